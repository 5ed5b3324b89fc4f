package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"isochrone/prober/reflect"
)

const reflectLong = `Be the other end of "prober ping --key-file", and of "prober bandwidth", "saturate", "stream" and "load":
answer TCP and UDP at one port number.

Only who holds the key is answered, everybody else gets no byte. A session is good for an hour and
for requests of the sizes that the other end named; the responses of ping are never larger. The clocks
of both machines may differ by ten minutes at the most.

Sessions that load the network, all but ping's, have one turn after the other (--bulk-sessions), and
each moves so much payload at the most, both directions together (--max-bytes).

Ctrl-C ends it and prints what was admitted and refused.

Exit codes: 0 ended by a signal, 1 it could not listen, 2 the command line or the key is wrong.`

const reflectExample = `  prober reflect --new-key key      make a key; copy the file to the other machine
  prober reflect --key-file key
  prober reflect --key-file key --listen 10.0.0.4:7700 --no-udp`

type reflectFlags struct {
	listen, keyFile, newKey string
	noTCP, noUDP            bool
	maxBytes                int64
	bulkSessions            int
}

func newReflect(t *terminal) *cobra.Command {
	f := &reflectFlags{maxBytes: reflect.DefaultBulkBytes}
	cmd := &cobra.Command{
		Use: "reflect --key-file FILE", Short: "Answer the prober ping, bandwidth and so on of who holds the key", Long: reflectLong, Example: reflectExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("see: prober help reflect", "reflect takes no arguments, and has %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), t) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.listen, "listen", ":"+reflectPort, "address to listen at; port 0 is any that is free")
	flags.StringVar(&f.keyFile, "key-file", "", "file with the shared key: at least 16 bytes of text, drawn at random")
	flags.StringVar(&f.newKey, "new-key", "", "make a key in this file, which only you may read, and end")
	flags.BoolVar(&f.noTCP, "no-tcp", false, "do not answer kind tcp, nor what loads the network")
	flags.BoolVar(&f.noUDP, "no-udp", false, "do not answer kind udp")
	flags.Var(byteCount{&f.maxBytes}, "max-bytes", "payload that a session that loads the network may move, such as 500MB or 20GB")
	flags.IntVar(&f.bulkSessions, "bulk-sessions", 1, "such sessions at a time; two measure each other")
	return cmd
}

func (f *reflectFlags) run(ctx context.Context, t *terminal) error {
	switch {
	case f.newKey != "" && f.keyFile != "":
		return usage("make the key first, then give it with --key-file", "--new-key and --key-file exclude each other")
	case f.newKey != "":
		if err := writeKeyFile(f.newKey); err != nil {
			return err
		}
		say(t.stdout, "made a key in %s; copy the file to the other machine, then: prober reflect --key-file %s", f.newKey, f.newKey)
		return nil
	case f.keyFile == "":
		return usage("make a key with: prober reflect --new-key FILE", "reflect needs --key-file: without a key it would answer anybody")
	case f.noTCP && f.noUDP:
		return usage("leave one of them out", "--no-tcp and --no-udp leave nothing to answer")
	}
	if f.bulkSessions < 1 || f.bulkSessions > 1000 {
		return usage("", "--bulk-sessions %d: want 1 to 1000", f.bulkSessions)
	}
	if err := checkListen(f.listen, ":"+reflectPort); err != nil {
		return usage("", "--listen %w", err)
	}
	secret, warning, err := readKeyFile(f.keyFile)
	if err != nil {
		return err
	}
	if warning != "" {
		say(t.stderr, "prober: %s", warning)
	}
	return f.serve(ctx, t, secret)
}

func (f *reflectFlags) serve(ctx context.Context, t *terminal, secret []byte) error {
	open, err := listen(ctx, f.listen, !f.noTCP, !f.noUDP)
	if err != nil {
		return failed("is another reflector running? --listen names another port", "%w", err)
	}
	d := &doorbell{t: t, refused: map[reflect.Reason]int{}}
	begun := time.Now()
	r := reflect.New(reflect.Config{
		Observer: d, Now: time.Now, Uptime: func() time.Duration { return time.Since(begun) },
		Log:    slog.New(slog.NewTextHandler(t.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Secret: secret, Watch: d.ring, ClockError: clockErrorNS,
		Limits: reflect.Limits{BulkBytes: f.maxBytes, BulkSessions: f.bulkSessions},
	})
	for _, s := range open.names() {
		say(t.stderr, "listening for %s", s)
	}
	group, serving := errgroup.WithContext(ctx)
	for _, task := range open.serve(r) {
		group.Go(func() error { return task(serving) })
	}
	err = group.Wait()
	d.totals(time.Since(begun))
	if err != nil {
		return failed("", "%w", err)
	}
	return nil
}

// names are the sockets in words.
func (s sockets) names() (out []string) {
	if s.tcp != nil {
		out = append(out, "tcp at "+s.tcp.Addr().String())
	}
	if s.udp != nil {
		out = append(out, "udp at "+s.udp.LocalAddr().String())
	}
	return out
}

// doorbell tells of who comes, and counts.
type doorbell struct {
	t *terminal

	mu       sync.Mutex // also keeps lines apart
	admitted int
	refused  map[reflect.Reason]int
}

// SessionAdmitted implements reflect.Observer.
func (d *doorbell) SessionAdmitted() { d.mu.Lock(); defer d.mu.Unlock(); d.admitted++ }

// SessionRefused implements reflect.Observer. Strangers get no line: they could fill the screen.
func (d *doorbell) SessionRefused(r reflect.Reason) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refused[r]++
}

// ring says from whom a session came.
func (d *doorbell) ring(a reflect.Admission) {
	sizes := fmt.Sprintf("%d bytes", a.RequestBytes)
	if a.ResponseBytes > 0 {
		sizes = fmt.Sprintf("%d bytes there and %d back", a.RequestBytes, a.ResponseBytes)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	say(d.t.stderr, "%s %s from %s, %s", time.Now().UTC().Format(time.TimeOnly), a.Kind, a.From, sizes)
}

// totals says what was admitted and refused, by reason.
func (d *doorbell) totals(took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	reasons := make([]string, 0, len(d.refused))
	all, told := 0, 0
	for _, r := range reflect.Reasons() {
		n := d.refused[r]
		if r == reflect.ReasonBulkBusy || r == reflect.ReasonBulkRefused {
			told += n
		} else if n > 0 {
			reasons = append(reasons, fmt.Sprintf("%d %s", n, r))
			all += n
		}
	}
	text := ""
	if all > 0 {
		text = " (" + strings.Join(reasons, ", ") + ")"
	}
	if told > 0 {
		text += fmt.Sprintf("; %d were told that it was busy, or that they asked for too much", told)
	}
	say(d.t.stderr, "after %s: %d sessions admitted, %d refused without a byte%s", took.Round(time.Second), d.admitted, all, text)
}
