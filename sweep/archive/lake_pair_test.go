package archive

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"isochrone/prober/wire"
)

const pairTargets, pairRuns, pairSamples = 20, 96, 100

func pairTarget(i int) string { return fmt.Sprintf("a-region-with-a-long-name-%02d", i) }

// pairLake is a lake file of 20 targets over two paths; a sample's round trip says of which it is.
func pairLake(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	words := newDictionary()
	w := newLakeWriter(&out, words, `{"runs":[],"files":[]}`, true)
	for target := range pairTargets {
		for path, name := range []string{"peering", "public"} {
			for run := range pairRuns {
				slot := slot0.Add(time.Duration(run) * 15 * time.Minute)
				for i := range pairSamples {
					row := lakeRow{target: words.number([]byte(pairTarget(target))), path: words.number([]byte(name))}
					for k := range row.numbers {
						row.numbers[k] = wire.Null
					}
					row.numbers[atTime], row.numbers[atSlot], row.numbers[atSeq], row.numbers[3] = slot.UnixMicro()+int64(i)*20_000, slot.UnixMicro(), int64(i), int64(i)*20e6
					if i%50 == 7 {
						row.failure = words.number([]byte(wire.FailureTimeout))
					} else {
						row.numbers[atRTT] = int64(target*1_000_000 + path*500_000 + run*100 + i)
					}
					must(t, w.add(&row))
				}
			}
		}
	}
	must(t, w.close())
	return out.Bytes()
}

func TestOfAPairItsRowGroupsAloneAreRead(t *testing.T) {
	body := pairLake(t)
	size := int64(len(body))
	read := func(at, n int64) ([]byte, error) { return body[at : at+n], nil }
	groups, foreign := 0, 0
	for target := range pairTargets {
		for path, name := range []string{"peering", "public"} {
			got, err := readTrips(size, pairTarget(target), name, read)
			must(t, err)
			if !got.Simulated || len(got.Slots) != pairRuns*pairSamples || len(got.RTTNS) != len(got.Slots) {
				t.Fatalf("target %d over %s: %d samples, want %d", target, name, len(got.Slots), pairRuns*pairSamples)
			}
			for i, rtt := range got.RTTNS {
				run, at := i/pairSamples, i%pairSamples
				want := int64(target*1_000_000 + path*500_000 + run*100 + at)
				if at%50 == 7 {
					want = wire.Null
				}
				if rtt != want || got.Slots[i] != slot0.Add(time.Duration(run)*15*time.Minute).UnixMicro() {
					t.Fatalf("target %d over %s, sample %d: %d at %d, want %d", target, name, i, rtt, got.Slots[i], want)
				}
			}
			// 384,000 rows are in six groups, and a pair's 9,600 in one or two.
			if got.Of != 6 || got.Groups < 1 || got.Groups > 2 || got.Size != size || got.Read > size*2/5 {
				t.Errorf("target %d over %s: %d of %d row groups, %d of %d bytes", target, name, got.Groups, got.Of, got.Read, got.Size)
			}
			// The footer; then of each row group target and path, and of one that holds the pair its slots and round trips.
			if want := 1 + 3*got.Groups - 2*got.Foreign; got.Requests != want || got.Foreign > 1 || got.Foreign >= got.Groups {
				t.Errorf("target %d over %s: %d requests, want %d; %d of %d row groups hold no row of it", target, name, got.Requests, want, got.Foreign, got.Groups)
			}
			groups, foreign = groups+got.Groups, foreign+got.Foreign
		}
	}
	if groups >= 60 { // 40 pairs, of which five lie across an end
		t.Errorf("%d row groups were read for 40 pairs", groups)
	}
	if foreign > 5 { // a target whose paths lie on both sides of an end
		t.Errorf("%d row groups were read in vain", foreign)
	}
	for _, of := range [][2]string{{"nowhere", "public"}, {pairTarget(3), "vpn"}, {"a", "public"}} {
		if got, err := readTrips(size, of[0], of[1], read); err != nil || len(got.Slots) != 0 || got.Read > 3*FooterBytes && of[1] != "vpn" {
			t.Errorf("%v: %d samples from %d bytes, %v", of, len(got.Slots), got.Read, err)
		}
	}
}

func TestAPairOfADamagedLakeFileIsAnError(t *testing.T) {
	body := pairLake(t)
	lost := errors.New("the connection was cut")
	for n := 1; n < 4; n++ {
		calls := 0
		_, err := readTrips(int64(len(body)), pairTarget(1), "public", func(at, size int64) ([]byte, error) {
			if calls++; calls == n {
				return nil, lost
			}
			return body[at : at+size], nil
		})
		if !errors.Is(err, lost) {
			t.Errorf("a connection that is cut at read %d: %v", n, err)
		}
	}
	for at := 0; at < len(body); at += len(body)/40 + 1 {
		damaged := bytes.Clone(body)
		damaged[at] ^= 0xff
		_, _ = readTrips(int64(len(damaged)), pairTarget(1), "public", func(at, n int64) ([]byte, error) { return damaged[at : at+n], nil }) // any answer but a crash
	}
	if _, err := readTrips(20, "a", "b", func(at, n int64) ([]byte, error) { return make([]byte, n), nil }); err == nil {
		t.Error("twenty zeros are a lake file")
	}
}
