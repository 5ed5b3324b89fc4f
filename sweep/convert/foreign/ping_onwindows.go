package foreign

import (
	"regexp"
	"strings"
)

var (
	windowsReply   = regexp.MustCompile(`^Reply from (\S+): (?:bytes=\d+ )?time([=<])(\d+(?:\.\d+)?)ms(?: TTL=\d+)?$`)
	windowsRefusal = regexp.MustCompile(`^(?:Reply from (\S+): )?((?:Destination|TTL expired|Packet needs|Source quench|Bad |Time to live).*)$`)
	windowsCounts  = regexp.MustCompile(`^Packets: Sent = (\d+), Received = (\d+), Lost = \d+ \((\d+% loss)\)`)
	windowsFigures = regexp.MustCompile(`^Minimum = (\d+)ms, Maximum = (\d+)ms, Average = (\d+)ms$`)
)

// takeWindows takes a line of the ping of Windows. Its lines have no sequence numbers: each stands for one
// request, in order. A time is in whole milliseconds, and one below that is "time<1ms".
func (r *pingRun) takeWindows(line, where string) (known bool, err error) {
	line = strings.TrimSpace(line)
	if m := windowsReply.FindStringSubmatch(line); m != nil {
		r.shown++
		q := Quantity{Text: m[3], Unit: "ms", Where: where}
		if m[2] == "<" {
			q.Text = "time<" + m[3] + "ms"
			return true, r.echoes.put(int64(r.shown), false, echoCensored, q)
		}
		return true, r.echoes.add(int64(r.shown), false, q)
	}
	if m := windowsRefusal.FindStringSubmatch(line); m != nil {
		r.shown++
		says := m[2]
		if m[1] != "" {
			says += " (from " + m[1] + ")"
		}
		r.refused("", says)
		return true, nil
	}
	switch strings.ToLower(strings.TrimSuffix(line, ".")) {
	case "request timed out":
		r.shown++
		return true, nil
	case "general failure", "hardware error", "transmit failed, error code 1231":
		r.shown++
		if r.complaint == "" {
			r.complaint = "PING: transmit failed. " + line
		}
		return true, nil
	case "control-c", "^c", "approximate round trip times in milli-seconds:":
		return true, nil
	}
	if m := windowsCounts.FindStringSubmatch(line); m != nil {
		r.ended = true
		r.counts = [2]Quantity{{Text: m[1], Where: where}, {Text: m[2], Where: where}}
		r.extras["packet loss"] = Quantity{Text: m[3], Where: where}
		return true, nil
	}
	if m := windowsFigures.FindStringSubmatch(line); m != nil {
		for i, name := range []string{"min", "max", "avg"} {
			r.figures[name] = Quantity{Text: m[i+1], Unit: "ms", Where: where}
		}
		return true, nil
	}
	return strings.HasPrefix(line, "Ping statistics for "), nil
}
