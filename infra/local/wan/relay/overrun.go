package relay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// statistics is a node's /proc/net/dev, opened inside its namespace. Every read from its start
// is of that moment.
type statistics struct {
	node   string
	device string
	dev    io.ReaderAt
}

// mostStatistics bounds what is read: a line of some 130 bytes for each device.
const mostStatistics = 1 << 13

// overrun is how many packets the kernel has dropped because the relay did not read them in time.
func (s statistics) overrun() (uint64, error) {
	b := make([]byte, mostStatistics)
	n, err := s.dev.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("reading the statistics of node %q: %w", s.node, err)
	}
	packets, err := sendDropped(b[:n], s.device)
	if err != nil {
		return 0, fmt.Errorf("reading the statistics of node %q: %w", s.node, err)
	}
	return packets, nil
}

// sendDropped finds the packets that a device dropped instead of sending them (proc_pid_net(5)):
// behind the name, eight fields are of receiving and eight of sending, the fourth of which it is.
func sendDropped(dev []byte, device string) (uint64, error) {
	lines := bufio.NewScanner(bytes.NewReader(dev))
	for lines.Scan() {
		name, rest, ok := strings.Cut(lines.Text(), ":")
		if !ok || strings.TrimSpace(name) != device {
			continue
		}
		fields := strings.Fields(rest)
		if len(fields) < 12 {
			return 0, fmt.Errorf("device %q has %d fields, want 16", device, len(fields))
		}
		return strconv.ParseUint(fields[11], 10, 64)
	}
	return 0, fmt.Errorf("it has no device %q", device)
}

// overruns asks all nodes that a filter leaves as senders.
func overruns(all []statistics, f filter) (map[string]uint64, error) {
	out := map[string]uint64{}
	for _, s := range all {
		if f.from != "" && f.from != s.node {
			continue
		}
		packets, err := s.overrun()
		if err != nil {
			return out, err
		}
		out[s.node] = packets
	}
	return out, nil
}
