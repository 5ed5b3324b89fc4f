package report

import (
	"bytes"
	"fmt"
	"strings"

	"isochrone/prober/wire"
)

// noise says what the measurement itself added, as far as it is known.
func noise(w *bytes.Buffer, d Document) {
	n := d.Noise
	var parts []string
	figures := func(name string, p50, p99, most *Microseconds) {
		var known []string
		for _, f := range []struct {
			name  string
			value *Microseconds
		}{{"p50 ", p50}, {"p99 ", p99}, {"max ", most}} {
			if f.value != nil {
				known = append(known, f.name+ms(f.value))
			}
		}
		if len(known) > 0 {
			parts = append(parts, name+" "+strings.Join(known, ", "))
		}
	}
	if !d.Spec.ClosedLoop { // where nothing is due, nothing is late
		figures("left late by", n.LatenessP50US, n.LatenessP99US, n.LatenessMaxUS)
	}
	figures("this program", n.ClientP50US, n.ClientP99US, nil)
	server := "target held"
	if d.Kind == wire.KindHTTP {
		server = "server's own"
	}
	figures(server, n.ServerP50US, n.ServerP99US, nil)
	w.WriteByte('\n')
	if len(parts) > 0 {
		fmt.Fprintf(w, "noise (ms): %s\n", strings.Join(parts, "; "))
	}
	switch {
	case d.Counts.Received == 0:
	case d.Timestamps == wire.TimestampsKernel:
		w.WriteString("clocked by the kernel: neither this program nor the target's is in the round trip\n")
	case d.Timestamps == wire.TimestampsUser:
		w.WriteString("clocked by this program: waking it up is part of the round trip, as it is of any application's\n")
	}
	if n.CPUStealRatio != nil && *n.CPUStealRatio > 0 {
		fmt.Fprintf(w, "the hypervisor took %s of this machine's time\n", percent(n.CPUStealRatio))
	}
	if n.ClockStepCount != nil && *n.ClockStepCount > 0 {
		fmt.Fprintf(w, "%d samples were clocked by this program instead: a wall clock was set while they were on their way\n", *n.ClockStepCount)
	}
	if n.UnstampedCount != nil && *n.UnstampedCount > 0 {
		fmt.Fprintf(w, "%d samples were clocked by this program instead: the kernel gave no time stamp for them\n", *n.UnstampedCount)
	}
	if d.Spec.ClosedLoop {
		w.WriteString("a closed loop cannot see how long a stall was; use -i\n")
	}
}

func verdict(w *bytes.Buffer, d Document) {
	for i, r := range d.Degraded {
		label := "DEGRADED: "
		if i > 0 {
			label = strings.Repeat(" ", len(label))
		}
		fmt.Fprintf(w, "%s%s\n", label, reasonText(r))
	}
}

// barWidth is the longest bar, in characters.
const barWidth = 40

// bars draws the histogram. A bucket with any value in it shows, however few.
func bars(w *bytes.Buffer, h *Histogram) {
	if h == nil || len(h.Buckets) == 0 {
		return
	}
	buckets := h.Buckets
	most := 0
	for _, b := range buckets {
		most = max(most, b.Count)
	}
	digits := len(fmt.Sprint(most))
	widest := len(ms(&buckets[len(buckets)-1].ToUS))
	fmt.Fprintf(w, "\n%*s   samples\n", 2*widest+4, "ms")
	for _, b := range buckets {
		length := b.Count * barWidth / most
		if b.Count > 0 {
			length = max(length, 1)
		}
		w.WriteString(strings.TrimRight(fmt.Sprintf("%*s to %*s   %*d %s", widest, ms(&b.FromUS), widest, ms(&b.ToUS), digits, b.Count, strings.Repeat("#", length)), " "))
		w.WriteByte('\n')
	}
}
