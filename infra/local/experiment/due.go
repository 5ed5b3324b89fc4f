package experiment

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// dueAt is a configuration whose named probes are due at a slot, and all others the day before: an
// experiment does not wait for the hour that its file names.
func dueAt(body []byte, names []string, slot time.Time) ([]byte, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(body, &file); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	found := 0
	if len(file.Content) == 1 {
		if probes := value(file.Content[0], "probes"); probes != nil {
			for _, p := range probes.Content {
				name, schedule := value(p, "name"), value(p, "schedule")
				if name == nil || schedule == nil {
					continue
				}
				at := slot.UTC().AddDate(0, 0, -1)
				if slices.Contains(names, name.Value) {
					at = slot.UTC()
					found++
				}
				schedule.Value, schedule.Style = fmt.Sprintf("%d %d %d %d *", at.Minute(), at.Hour(), at.Day(), at.Month()), yaml.DoubleQuotedStyle
			}
		}
	}
	if found != len(names) {
		return nil, fmt.Errorf("reading the configuration: it has %d of the probes %q, want each of them once", found, names)
	}
	var out bytes.Buffer
	if err := yaml.NewEncoder(&out).Encode(&file); err != nil {
		return nil, fmt.Errorf("writing the configuration: %w", err)
	}
	return out.Bytes(), nil
}

// value is that of a key in a mapping.
func value(mapping *yaml.Node, key string) *yaml.Node {
	if mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}
