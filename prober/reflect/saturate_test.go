package reflect

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"isochrone/prober/wire"
)

// wirePair is a connection whose peer has said all that it ever says.
type wirePair struct {
	io.Reader
	wrote int
}

func (p *wirePair) Write(b []byte) (int, error) { p.wrote += len(b); return len(b), nil }

func transferBytes(size int, reads ...bool) []byte {
	var out []byte
	for i, read := range reads {
		n := size
		if read {
			n = wire.TransferHeaderBytes
		}
		b := make([]byte, n)
		wire.PutTransfer(b, uint64(i), read)
		out = append(out, b...)
	}
	return out
}

func TestTransfersAreAnsweredInTheirSizes(t *testing.T) {
	const size = 100_000
	for _, c := range []struct {
		name   string
		in     []byte
		budget int64
		wrote  int
		fails  string
	}{
		{"a write", transferBytes(size, false), size, 16, ""},
		{"a read", transferBytes(size, true), size, size, ""},
		{"both, pipelined", transferBytes(size, false, true, true, false), 4 * size, 2*16 + 2*size, ""},
		{"budget for one", transferBytes(size, true, true), 2*size - 1, size, ""},
		{"budget for none", transferBytes(size, false), size - 1, 0, ""},
		{"cut in the header", transferBytes(size, true)[:15], size, 0, "request 0"},
		{"cut in the payload", transferBytes(size, false)[:size-1], size, 0, "request 0"},
		{"neither", bytes.Repeat([]byte{7}, 16), size, 0, "neither reads nor writes"},
		{"nothing", nil, size, 0, ""},
	} {
		p := &wirePair{Reader: bytes.NewReader(c.in)}
		err := newTransfers(p, size, 4096, wire.NewBudget(c.budget)).serve()
		if p.wrote != c.wrote || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %d bytes written, want %d; %v", c.name, p.wrote, c.wrote, err)
		}
	}
}

func transferSeeds() [][]byte {
	const size = 200
	return [][]byte{
		nil, {0}, transferBytes(size, false), transferBytes(size, true), transferBytes(size, true, false, true, true),
		transferBytes(size, false)[:size-1], transferBytes(size, true)[:15], bytes.Repeat([]byte{0xff}, 64), make([]byte, 4*size),
	}
}

func FuzzTransfers(f *testing.F) {
	for _, b := range transferSeeds() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const size, budget = 200, 1700
		p := &wirePair{Reader: bytes.NewReader(in)}
		meter := wire.NewBudget(budget)
		_ = newTransfers(p, size, 4096, meter).serve()
		// Of each request either its payload came, or it is what goes out; the budget holds both.
		if meter.Used() > budget || int64(p.wrote) > meter.Used() || p.wrote > len(in)/wire.TransferHeaderBytes*size {
			t.Errorf("%d bytes came, %d went, of a budget of %d", len(in), p.wrote, meter.Used())
		}
	})
}
