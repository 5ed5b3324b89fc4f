package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"isochrone/prober/probe"
	"isochrone/prober/report"
	"isochrone/prober/wire"
)

const streamLong = `Send messages at a rate, whether or not the target keeps up. TARGET is host or host:port of a
"prober reflect" that has the same key.

A message is due by a fixed schedule, and joins the source's queue then; with --batch a batch joins
it when its last message is due, and is written at once. One connection carries all. With
--sink-rate the target takes so many messages a second at the most: what is beyond waits in the
buffers of both systems, then at the source.

A is the rate at which messages joined the queue, B that at which the target took them. A delay is
from when a message was due to when it was taken, so what it waited at the source is in it; the
clocks are compared by round trips before and after, and the remaining error is told. Beside the
last message's delay stands N/B - N/A, what a queue that fills at A and empties at B makes of it.

--max-bytes ends it, at both ends.

Exit codes: 0 something was taken, 1 nothing was taken, 2 the command line is wrong.`

const streamExample = `  prober stream 10.0.0.4 --key-file key
  prober stream 10.0.0.4 --key-file key -l 1k -n 50000 --rate 2000 --sink-rate 591
  prober stream 10.0.0.4 --key-file key -l 32k -n 20000 --rate 1000 --batch 100 --json > run.json`

// streamFlags are what the command line of stream says.
type streamFlags struct {
	bulkFlags
	size, messages, rate, batch, sinkRate int
}

func newStream(t *terminal) *cobra.Command {
	f := &streamFlags{bulkFlags: defaultBulkFlags(), size: 1024, messages: 10_000, rate: 1000, batch: 1}
	cmd := &cobra.Command{
		Use: "stream TARGET", Short: "Send messages at a rate, whether or not the target keeps up", Long: streamLong, Example: streamExample,
		Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("sink-rate") && f.sinkRate == 0 {
				return usage("leave it out, and the target takes all that it can", "--sink-rate 0: want 1 to %d", wire.MaxMessageRate)
			}
			r, err := planBulk(args[0], f.spec(), &f.bulkFlags)
			if err != nil {
				return err
			}
			r.document = func(in report.Input) figures { return report.StreamOf(in) }
			r.progress = func(p probe.Progress) string {
				return fmt.Sprintf("%d messages taken, backlog %d", p.Requests, p.Backlog)
			}
			return r.make(cmd.Context(), t)
		},
	}
	flags := cmd.Flags()
	flags.VarP(size{&f.size}, "size", "l", "bytes of a message, such as 1024 or 8k")
	flags.IntVarP(&f.messages, "messages", "n", f.messages, "messages")
	flags.IntVar(&f.rate, "rate", f.rate, "messages a second")
	flags.IntVar(&f.batch, "batch", f.batch, "messages in one write")
	flags.IntVar(&f.sinkRate, "sink-rate", 0, "messages a second that the target takes at the most (default all it can)")
	f.register(cmd)
	return cmd
}

func (f *streamFlags) spec() wire.Spec {
	return wire.Spec{
		Kind: wire.KindStream, RequestBytes: f.size,
		Bulk: wire.Bulk{Messages: f.messages, MessageRate: f.rate, Batch: f.batch, SinkRate: f.sinkRate},
	}
}
