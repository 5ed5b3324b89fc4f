package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/ingest"
	"isochrone/sweep/tables"
)

// foreignProbe is what strangers' documents are filed under, without "ext.".
const foreignProbe = "ping"

// foreign is what a stranger measured, and sends until it is taken.
type foreign struct {
	Body string    `json:"body"`
	At   time.Time `json:"at"`
}

func (f *foreign) parameters() ingest.Parameters {
	return ingest.Parameters{Source: regions[0], Target: regions[1], Path: "public", Probe: foreignProbe, At: f.At.Format(time.RFC3339)}
}

// strangers measure something every few hours.
const strangersEvery = 4

// measured is what ping prints (iputils).
func (m *month) measured(at time.Time) *foreign {
	ms := 80 + m.random.Float64()
	return &foreign{At: at, Body: fmt.Sprintf(`PING 192.0.2.2 (192.0.2.2) 56(84) bytes of data.
64 bytes from 192.0.2.2: icmp_seq=1 ttl=50 time=%.1f ms
64 bytes from 192.0.2.2: icmp_seq=2 ttl=50 time=%.1f ms

--- 192.0.2.2 ping statistics ---
2 packets transmitted, 2 received, 0%% packet loss, time 1001ms
rtt min/avg/max/mdev = %.3f/%.3f/%.3f/0.100 ms
`, ms, ms+0.2, ms, ms+0.1, ms+0.2)}
}

// send sends what strangers have measured. What a handler did not say that it took is sent again later.
func (m *month) send(ctx context.Context) {
	waiting := m.unsent
	m.unsent = nil
	for _, f := range waiting {
		to := m.handlers[m.random.IntN(2)]
		if to.alive() == nil {
			to = m.handlers[0]
		}
		m.each(ctx, []*member{to}, order{Do: doResults, Foreign: f}, func(_ *member, _ answer, err error) {
			if err != nil {
				m.note("a stranger's document of %s: %v", f.At.Format(time.RFC3339), err)
				m.unsent = append(m.unsent, f)
				return
			}
			m.sent = append(m.sent, f)
		})
	}
}

// checkForeign holds the strangers' documents against their rows, one each.
func (m *month) checkForeign(ctx context.Context, v *verdict, rows map[runKey]tables.Row) error {
	v.foreign = len(m.sent)
	for _, f := range m.sent {
		k := runKey{wire.Series{Environment: m.environment, Source: regions[0], Target: regions[1], Path: "public", Probe: wire.ForeignPrefix + foreignProbe}, f.At.Unix()}
		r, there := rows[k]
		delete(rows, k)
		if !there {
			v.bad(wrongForeign, 1, "what was measured at %s has no row", f.At.Format(time.RFC3339))
			continue
		}
		body, _, err := m.blobs.ReadDocument(ctx, r.Document)
		if err != nil {
			return err
		}
		if string(body) != f.Body || r.Counts.Received != 2 {
			v.bad(wrongForeign, 1, "what was measured at %s is stored as %q, with %d replies", f.At.Format(time.RFC3339), body, r.Counts.Received)
		}
	}
	for k := range rows {
		v.bad(wrongForeign, 1, "nobody sent %v at %s", k.series, time.Unix(k.slot, 0).UTC().Format(time.RFC3339))
	}
	if len(m.unsent) > 0 {
		return errors.New("a stranger's document was never taken, without any fault")
	}
	return nil
}
