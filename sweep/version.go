package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"isochrone/prober/wire"
	"isochrone/sweep/config"
)

// version is set by the build: -ldflags "-X main.version=1.2.3".
var version = "dev"

func newVersion(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program and of the formats it reads",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return s.write(fmt.Appendln(nil, versionText()))
		},
	}
}

func versionText() string {
	return fmt.Sprintf("sweep %s, %s %s/%s\nreads configuration version %d, documents version %d, assignments version %d, registrations version %d",
		version, runtime.Version(), runtime.GOOS, runtime.GOARCH,
		config.Version, wire.DocumentVersion, wire.AssignmentsVersion, wire.RegistrationVersion)
}
