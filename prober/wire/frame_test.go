package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func opening() Opening {
	return Opening{Role: RoleUp, Index: 3, Spec: Spec{
		Kind: KindThroughput, RequestBytes: DefaultChunkBytes, Timeout: 10 * time.Second,
		Bulk: Bulk{MaxBytes: 1e9, Duration: 10 * time.Second, Ramp: 2 * time.Second, Direction: DirectionBoth, Streams: 4, RateBPS: 1e8, Congestion: "cubic"},
	}}
}

func TestFramesAreReadAsTheyWereWritten(t *testing.T) {
	var stream bytes.Buffer
	want := opening()
	for range 3 {
		if err := WriteFrame(&stream, want); err != nil {
			t.Fatal(err)
		}
	}
	r := iotest.OneByteReader(&stream) // however it comes
	for range 3 {
		var got Opening
		if err := ReadFrame(r, &got); err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	var got Opening
	if err := ReadFrame(r, &got); err != io.EOF { //nolint:errorlint // as documented
		t.Errorf("after the last frame: %v, want io.EOF", err)
	}
}

// frame is a frame of the text.
func frame(text string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

func TestWhatIsNoFrameIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		bytes  []byte
		broken bool // the stream ended; otherwise what came is wrong
	}{
		"cut in its length":     {[]byte{0, 0}, true},
		"cut in its JSON":       {frame(`{"stop":true}`)[:9], true},
		"too long":              {binary.BigEndian.AppendUint32(nil, MaxFrameBytes+1), false},
		"longer than anything":  {[]byte{255, 255, 255, 255, '{'}, false},
		"no JSON":               {frame("stop"), false},
		"half an object":        {frame(`{"stop":`), false},
		"nothing":               {frame(""), false},
		"two objects":           {frame(`{"stop":true}{"stop":true}`), false},
		"a field nobody knows":  {frame(`{"stop":true,"hurry":1}`), false},
		"a value of its own":    {frame(`{"stop":"yes"}`), false},
		"white space behind it": {frame(`{"stop":true} `), false},
	} {
		var got ThroughputOrder
		err := ReadFrame(bytes.NewReader(c.bytes), &got)
		if err == nil || errors.Is(err, ErrFrame) == c.broken || errors.Is(err, io.ErrUnexpectedEOF) != c.broken {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFrameIsNeverTooLong(t *testing.T) {
	var out bytes.Buffer
	if err := WriteFrame(&out, strings.Repeat("x", MaxFrameBytes)); err == nil || out.Len() > 0 {
		t.Errorf("%d bytes were written, %v", out.Len(), err)
	}
}

func TestAnOpeningIsShort(t *testing.T) {
	var longest bytes.Buffer
	o := Opening{Role: RoleRequest, Index: MaxOutstanding, Spec: bulkSpecs["throughput"].spec}
	if err := WriteFrame(&longest, o); err != nil {
		t.Fatal(err)
	}
	var got Opening
	if err := ReadOpening(&longest, &got); err != nil || got != o {
		t.Errorf("%+v, %v", got, err)
	}
	if err := ReadOpening(bytes.NewReader(binary.BigEndian.AppendUint32(nil, MaxOpeningBytes+1)), &got); !errors.Is(err, ErrFrame) {
		t.Errorf("a claim of more than an opening has: %v", err)
	}
}

// A claim of a mebibyte costs no mebibyte.
func TestAClaimAloneCostsNothing(t *testing.T) {
	claim := binary.BigEndian.AppendUint32(nil, MaxFrameBytes)
	claim = append(claim, '{')
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			var got Opening
			_ = ReadFrame(bytes.NewReader(claim), &got)
		}
	})
	if n := result.AllocedBytesPerOp(); n > 64<<10 {
		t.Errorf("%d bytes were allocated for a frame that did not come", n)
	}
}

// frameSeeds are frames of either kind, and what is none.
func frameSeeds(t testing.TB) [][]byte {
	t.Helper()
	seeds := [][]byte{frame("{}"), frame(""), {0, 0, 0}, {255, 255, 255, 255}, frame(`{"spec":{"bulk":{"max_bytes":-1}}}`), frame(`{"reading":{"at_ns":-1}}`)}
	for _, v := range []any{
		opening(), Accepted{Failure: FailureTargetBusy, Detail: "busy"}, ThroughputOrder{Stop: true},
		ThroughputReport{Reading: &Reading{AtNS: 1, ForNS: 2, Bytes: 3, Ramp: true}, Sending: &Sending{RTTNS: 1}, Counted: true, BudgetReached: true, End: true},
	} {
		var b bytes.Buffer
		if err := WriteFrame(&b, v); err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, b.Bytes())
	}
	return seeds
}

func TestFrameSeedsAreThere(t *testing.T) {
	if n := len(frameSeeds(t)); n != 10 {
		t.Errorf("%d seeds, want 10", n)
	}
}

func FuzzReadFrame(f *testing.F) {
	for _, seed := range frameSeeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, v := range []any{&Opening{}, &Accepted{}, &ThroughputOrder{}, &ThroughputReport{}} {
			r := bytes.NewReader(b)
			if err := ReadFrame(r, v); err != nil {
				continue
			}
			if taken := len(b) - r.Len(); taken != 4+int(binary.BigEndian.Uint32(b)) {
				t.Errorf("a frame of %d bytes took %d", binary.BigEndian.Uint32(b), taken)
			}
			if o, ok := v.(*Opening); ok {
				_ = o.Spec.Validate() // whatever it says, that ends
			}
			var again bytes.Buffer
			if err := WriteFrame(&again, v); err != nil {
				t.Errorf("what was read cannot be written: %v", err)
			}
		}
	})
}
