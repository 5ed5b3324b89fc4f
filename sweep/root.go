package main

import (
	"time"

	"github.com/spf13/cobra"
)

const rootLong = `sweep checks and pushes the configuration of Isochrone, says what would run, and shows
what was measured and how the last sweeps went.

Settings are those of the Functions app, read from the environment:

  ISOCHRONE_ENVIRONMENT                 dev, test, prod …; --environment wins over it
  ISOCHRONE_STORAGE_CONNECTION_STRING   the storage account by connection string, or
  ISOCHRONE_STORAGE_ACCOUNT             its name, with an Entra ID identity: that of
                                        "az login", or a managed one
  AZURE_CLIENT_ID                       which user-assigned managed identity
  NO_COLOR                              when it is set, tables are not coloured

There is no flag for the connection string: every user of a machine can read the arguments
of its processes. "check", "plan" and "convert" without --store need no storage at all.

All times are UTC. Tables name the unit of each number in its heading; "-" is a value that
is absent, which is never a zero. Answers go to standard output, everything else to standard
error.

Exit codes:

  0   all is well
  1   the answer is bad: faults were found, pairs are missing, a document was refused
  2   the command line or a setting is wrong
  3   the storage, or the configuration in it, could not be reached`

const rootExample = `  sweep check sweep.yaml
  sweep config push sweep.yaml
  sweep matrix
  sweep runs --source westeurope --target eastus --since 24h
  sweep status --last 10`

func newRoot(s *session) *cobra.Command {
	root := &cobra.Command{
		Use:     "sweep",
		Short:   "Operate Isochrone and read what it measured",
		Long:    rootLong,
		Example: rootExample,
		Version: versionText(),
		// Errors are printed once, by report, with their remedy.
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if s.timeout <= 0 {
				return usage("", "--timeout %s: want more than 0", s.timeout)
			}
			return nil
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	flags := root.PersistentFlags()
	flags.StringVar(&s.environment, "environment", "", "the environment to talk about (default $ISOCHRONE_ENVIRONMENT)")
	flags.DurationVar(&s.timeout, "timeout", 30*time.Second, "how long the storage may take to answer")
	root.AddCommand(newCheck(s), newConfig(s), newPlan(s), newMatrix(s), newRuns(s), newCompare(s), newStatus(s), newCoverage(s), newChanges(s), newTrend(s), newHeatmap(s), newRecovery(s), newRank(s), newExport(s), newConvert(s), newXML2JSON(s), newQuarantine(s), newReplay(s), newRollup(s), newCompact(s), newAlerts(s), newSimulate(s), newDoctor(s), newVersion(s))
	return root
}
