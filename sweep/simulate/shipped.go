package simulate

import (
	_ "embed"
	"strings"
)

//go:embed history.yaml
var shipped string

// Shipped is the configuration of an environment that has none of its own.
func Shipped(environment string) []byte {
	return []byte(strings.ReplaceAll(shipped, "environment: ENVIRONMENT", "environment: "+environment))
}
