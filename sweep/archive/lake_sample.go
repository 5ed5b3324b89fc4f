package archive

import (
	"cmp"
	"hash/fnv"
	"time"

	"isochrone/prober/wire"
)

// LakeVersion is the version of the lake's schema. A change edits docs/formats.md with it.
const LakeVersion = 1

// Keys of the footer's metadata of a lake file.
const (
	// MetaLakeVersion holds LakeVersion.
	MetaLakeVersion = "isochrone.lake.version"
	// MetaInputs holds the raw files that the file was made of, a JSON array of LakeInput.
	MetaInputs = "isochrone.inputs"
)

// LakeSample is a row of the lake: a Sample without its probe, which the path says, as it says source and
// date.
type LakeSample struct {
	Target      string    `parquet:"target,dict"`
	Path        string    `parquet:"path,dict"`
	Time        time.Time `parquet:"time,timestamp(microsecond:utc)"`
	Slot        time.Time `parquet:"slot,timestamp(microsecond:utc)"`
	Seq         int64     `parquet:"seq"`
	DueNS       int64     `parquet:"due_ns"`
	SentNS      *int64    `parquet:"sent_ns,optional"`
	RTTNS       *int64    `parquet:"rtt_ns,optional"`
	ServerNS    *int64    `parquet:"server_ns,optional"`
	ForwardNS   *int64    `parquet:"forward_ns,optional"`
	ReverseNS   *int64    `parquet:"reverse_ns,optional"`
	ClientNS    *int64    `parquet:"client_ns,optional"`
	DNSNS       *int64    `parquet:"dns_ns,optional"`
	ConnectNS   *int64    `parquet:"connect_ns,optional"`
	TLSNS       *int64    `parquet:"tls_ns,optional"`
	FirstByteNS *int64    `parquet:"first_byte_ns,optional"`
	Failure     *string   `parquet:"failure,optional,dict"`
}

// The columns of the lake, in the order of LakeSample.
var (
	lakeNumbers  = [...]string{"time", "slot", "seq", "due_ns", "sent_ns", "rtt_ns", "server_ns", "forward_ns", "reverse_ns", "client_ns", "dns_ns", "connect_ns", "tls_ns", "first_byte_ns"}
	lakeRequired = 4 // the first of lakeNumbers are never null
)

// The places of some of lakeNumbers.
const (
	atTime = iota
	atSlot
	atSeq
	_
	_
	atRTT
	numberColumns = len(lakeNumbers)
)

// lakeRow is a sample as it is merged: texts by their number in a dictionary, the rest as lakeNumbers says,
// wire.Null where there is none. Times are Unix microseconds.
type lakeRow struct {
	target, path, failure uint32
	numbers               [numberColumns]int64
}

// dictionary numbers texts. Number 0 is that of no text at all.
type dictionary struct {
	numbers map[string]uint32
	texts   []string
	hashes  []uint64
}

func newDictionary() *dictionary {
	return &dictionary{numbers: map[string]uint32{"": 0}, texts: []string{""}, hashes: []uint64{0}}
}

func (d *dictionary) number(text []byte) uint32 {
	if n, ok := d.numbers[string(text)]; ok {
		return n
	}
	n := uint32(len(d.texts))
	h := fnv.New64a()
	_, _ = h.Write(text) // a hash takes everything
	d.numbers[string(text)], d.texts, d.hashes = n, append(d.texts, string(text)), append(d.hashes, h.Sum64())
	return n
}

// compare orders rows by all that they hold, so that the order of their coming leaves no trace.
func (d *dictionary) compare(a, b *lakeRow) int {
	if a.target != b.target {
		return cmp.Compare(d.texts[a.target], d.texts[b.target])
	}
	if a.path != b.path {
		return cmp.Compare(d.texts[a.path], d.texts[b.path])
	}
	for i := range a.numbers {
		if a.numbers[i] != b.numbers[i] {
			return cmp.Compare(a.numbers[i], b.numbers[i])
		}
	}
	return cmp.Compare(d.texts[a.failure], d.texts[b.failure])
}

// SampleSum tells samples from others whatever their order: two sets of which one is altered, short of
// a row or has one twice differ in it.
type SampleSum struct {
	Rows int64 `json:"rows"`
	RTT  int64 `json:"rtt_ns_sum"`
	Seq  int64 `json:"seq_sum"`
	// Hash is the sum of the rows' hashes, each of all columns, modulo 2^64.
	Hash uint64 `json:"hash,string"`
}

// Plus is the sum of both sets.
func (s SampleSum) Plus(o SampleSum) SampleSum {
	return SampleSum{s.Rows + o.Rows, s.RTT + o.RTT, s.Seq + o.Seq, s.Hash + o.Hash}
}

func (s *SampleSum) add(d *dictionary, r *lakeRow) {
	s.Rows++
	if rtt := r.numbers[atRTT]; rtt != wire.Null {
		s.RTT += rtt
	}
	s.Seq += r.numbers[atSeq]
	h := mix(mix(mix(0x9e3779b97f4a7c15, d.hashes[r.target]), d.hashes[r.path]), d.hashes[r.failure])
	for _, v := range r.numbers {
		h = mix(h, uint64(v))
	}
	s.Hash += h
}

// mix is a step of a multiplicative hash: it stands in footers, so it must not change within a version.
func mix(h, v uint64) uint64 {
	h = (h ^ v) * 0xff51afd7ed558ccd
	return h ^ h>>32
}

// runKey is a run within a lake file.
type runKey struct {
	target, path uint32
	slot         int64
}
