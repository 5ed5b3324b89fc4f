package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"isochrone/prober/probe"
	"isochrone/prober/report"
	"isochrone/prober/wire"
)

const saturateLong = `Raise the number of requests under way until response times suffer. TARGET is host or host:port
of a "prober reflect" that has the same key.

It begins with one request at a time, then keeps two under way, four, eight, each level for --time,
until the 99th percentile of the response time has doubled from one level to the next (the level
before is the knee), or --outstanding is reached. Each request under way has a connection to itself.

A write sends -l bytes and is answered by 16; a read sends 16 and is answered by -l bytes. Reads
and writes alternate as --read says, exactly in every hundred. A response time is from the request's
first byte handed to the system to the answer's last. What is under way when a level ends is not
counted in it.

Mbit/s are of payload, and beside it with protocol overhead in the two conventions in use: the
headers of one segment for a transfer, and those of every segment.

It moves as much as the network gives. --max-bytes ends it, at both ends.

Exit codes: 0 something was moved, 1 nothing was moved, 2 the command line is wrong.`

const saturateExample = `  prober saturate 10.0.0.4 --key-file key
  prober saturate 10.0.0.4 --key-file key -l 62780 --outstanding 64 --max-bytes 20GB
  prober saturate 10.0.0.4 --key-file key -l 8k --read 70 -t 2 --json > run.json`

// saturateFlags are what the command line of saturate says.
type saturateFlags struct {
	bulkFlags
	size, read, outstanding int
	during                  time.Duration
}

func newSaturate(t *terminal) *cobra.Command {
	f := &saturateFlags{bulkFlags: defaultBulkFlags(), size: 4096, outstanding: 32, during: 5 * time.Second}
	cmd := &cobra.Command{
		Use: "saturate TARGET", Short: "Raise the requests under way until response times suffer", Long: saturateLong, Example: saturateExample,
		Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := planBulk(args[0], f.spec(), &f.bulkFlags)
			if err != nil {
				return err
			}
			r.document = func(in report.Input) figures { return report.SaturateOf(in) }
			r.progress = func(p probe.Progress) string {
				return fmt.Sprintf("%d outstanding, %d requests, %s", p.Outstanding, p.Requests, report.Bytes(p.UpBytes+p.DownBytes))
			}
			return r.make(cmd.Context(), t)
		},
	}
	flags := cmd.Flags()
	flags.VarP(size{&f.size}, "size", "l", "bytes of a transfer, such as 62780 or 8k")
	flags.IntVar(&f.read, "read", 0, "percent of the transfers that are read from the target")
	flags.IntVar(&f.outstanding, "outstanding", f.outstanding, "requests under way at the most")
	flags.VarP(span{&f.during}, "time", "t", "how long a level lasts")
	f.register(cmd)
	return cmd
}

func (f *saturateFlags) spec() wire.Spec {
	return wire.Spec{
		Kind: wire.KindSaturate, RequestBytes: f.size,
		Bulk: wire.Bulk{Duration: f.during, ReadPercent: f.read, Outstanding: f.outstanding},
	}
}
