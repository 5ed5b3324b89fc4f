package wire

import (
	"math"
	"testing"
	"time"
)

func TestMessagesAreDueByAFixedSchedule(t *testing.T) {
	for _, rate := range []int{1, 3, 7, 591, 2000, 999_983, MaxMessageRate} {
		for _, i := range []int{0, 1, 2, 41, 4999, MaxMessages - 1} {
			due := MessageDue(i, rate)
			if exact := float64(i) / float64(rate) * 1e9; math.Abs(float64(due)-exact) > 1+exact*1e-9 {
				t.Errorf("message %d at %d/s is due at %d, want %.0f", i, rate, due, exact)
			}
			if due > time.Duration(MaxBulkDuration) {
				continue // no run lasts as long
			}
			if before, at := MessagesDue(due-1, rate, MaxMessages), MessagesDue(due, rate, MaxMessages); before != i && rate < MaxMessageRate || at != i+1 {
				t.Errorf("message %d at %d/s: %d are due before its time, %d at it", i, rate, before, at)
			}
		}
	}
	if n := MessagesDue(-1, 1000, 10); n != 0 {
		t.Errorf("%d messages are due before the beginning", n)
	}
	if n := MessagesDue(time.Hour, 1000, 10); n != 10 {
		t.Errorf("%d of 10 messages are due long after", n)
	}
	if n := MessagesDue(math.MaxInt64, MaxMessageRate, MaxMessages); n != MaxMessages {
		t.Errorf("%d messages are due at the end of time", n)
	}
}

func TestAMessageIsReadAsItWasWritten(t *testing.T) {
	b := make([]byte, MinMessageBytes)
	PutMessage(b, 1<<40, 12*time.Second)
	if sequence, due := Message(b); sequence != 1<<40 || due != 12*time.Second {
		t.Errorf("%d, %s", sequence, due)
	}
	for i := range b {
		b[i] = 0xff
	}
	if sequence, due := Message(b); sequence != math.MaxUint64 || due != math.MaxInt64 {
		t.Errorf("hostile octets: %d, %d", sequence, due)
	}
	PutTransfer(b, 9, true)
	if sequence, read, ok := Transfer(b); sequence != 9 || !read || !ok {
		t.Errorf("%d, %v, %v", sequence, read, ok)
	}
	b[8] = 1
	if _, _, ok := Transfer(b); ok {
		t.Error("a direction that is none")
	}
}

func TestADriftIsEvenAndBounded(t *testing.T) {
	d := Drift{FromNS: 1000, ToNS: 2000, MovedNS: -500}
	for at, want := range map[int64]int64{0: 0, 1000: 0, 1500: -250, 2000: -500, math.MaxInt64: -500} {
		if got := d.At(at); got != want {
			t.Errorf("at %d it is %d, want %d", at, got, want)
		}
	}
	if (Drift{}).At(77) != 0 || (Drift{}).Validate() != nil || d.Validate() != nil {
		t.Error("no drift is none, and one is fine")
	}
	for _, bad := range []Drift{
		{FromNS: 5, ToNS: 5}, {FromNS: -1, ToNS: 5}, {ToNS: math.MaxInt64}, {ToNS: 5, MovedNS: math.MinInt64}, {ToNS: 5, MovedNS: maxDriftNS + 1},
	} {
		if bad.Validate() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

func TestReadsAndWritesAlternateAsTheShareSays(t *testing.T) {
	for percent := range 101 {
		for from := range int64(250) {
			reads := 0
			for i := from; i < from+100; i++ {
				if IsRead(i, percent) {
					reads++
				}
			}
			if reads != percent {
				t.Fatalf("%d %%: %d reads of 100 from %d on", percent, reads, from)
			}
		}
	}
	// As evenly as can be: never two of the rarer in a row where there are fewer than half of it.
	for i := range int64(1000) {
		if IsRead(i, 40) && IsRead(i+1, 40) {
			t.Fatalf("40 %%: %d and %d are both read", i, i+1)
		}
	}
	if !IsRead(1<<62, 100) || IsRead(1<<62, 0) {
		t.Error("far requests")
	}
}

func TestTheKneeIsBeforeTheLevelWhereP99Doubled(t *testing.T) {
	at := func(p99 ...int64) (out []Level) {
		for _, v := range p99 {
			out = append(out, Level{P99NS: v})
		}
		return out
	}
	for _, c := range []struct {
		levels []Level
		knee   int
		ok     bool
	}{
		{nil, 0, false}, {at(5), 0, false}, {at(5, 9), 0, false}, {at(5, 10), 0, true}, {at(5, 6, 7, 14), 2, true}, {at(5, 11, 12), 0, false}, {at(0, 5), 0, false},
	} {
		if knee, ok := Knee(c.levels); knee != c.knee || ok != c.ok {
			t.Errorf("%+v: knee %d, %v", c.levels, knee, ok)
		}
	}
	if _, ok := Knee([]Level{{P99NS: 5, CountedNS: 1000}, {P99NS: 50, CountedNS: 999}}); ok {
		t.Error("a level that was cut short is taken for the one after the knee")
	}
	var levels []int
	for n := 1; len(levels) < MaxLevels; n = NextLevel(n, MaxOutstanding) {
		if levels = append(levels, n); n == MaxOutstanding {
			break
		}
	}
	if len(levels) != 11 || levels[10] != MaxOutstanding {
		t.Errorf("levels %d", levels)
	}
	if NextLevel(32, 48) != 48 {
		t.Error("the last level is the limit itself")
	}
}

func TestABandHoldsWhatIsLessThanItsEnd(t *testing.T) {
	for ns, want := range map[int64]int{0: 0, 999_999: 0, 1_000_000: 1, 4_999_999: 2, 5_000_000: 3, 1_999_999_999: 10, 2_000_000_000: 11, math.MaxInt64: 11} {
		if got := Band(ns); got != want {
			t.Errorf("%d ns is in band %d, want %d", ns, got, want)
		}
	}
}
