package simulated

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"isochrone/prober/wire"
)

// Loss is the part of the samples that is lost.
const Loss = 0.001

// Version is what simulated probers say of their version.
const Version = "simulated"

// Document is what the source of an assignment measured. The attempt follows from the seed.
func Document(environment, source string, a wire.Assignment, seed uint64) (wire.Document, error) {
	clockError := int64(1_500_000)
	d := wire.Document{
		Version: wire.DocumentVersion, Environment: environment, Slot: a.Slot, Source: source, Probe: a.Probe, Part: a.Part,
		Assignment: a.ID, Attempt: fmt.Sprintf("%08x", uint32(seed)),
		Provenance: wire.Provenance{ProberVersion: Version, VMSize: "simulated", ClockErrorNS: &clockError},
	}
	random := rand.New(rand.NewPCG(seed, hash(a.ID)))
	d.Runs = make([]wire.Run, len(a.Runs))
	for i := range a.Runs {
		var err error
		if d.Runs[i], err = Run(source, a.Runs[i], a.Spec, a.Start, random); err != nil {
			return wire.Document{}, err
		}
	}
	if err := d.Validate(); err != nil {
		return wire.Document{}, fmt.Errorf("simulating assignment %q: %w", a.ID, err)
	}
	return d, nil
}

// Encode is a document as it travels: JSON, gzipped without a time stamp.
func Encode(d *wire.Document) ([]byte, error) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if err := json.NewEncoder(z).Encode(d); err != nil {
		return nil, fmt.Errorf("encoding a document: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("packing a document: %w", err)
	}
	return packed.Bytes(), nil
}

// hash is a number of its own for each list of words.
func hash(words ...string) uint64 {
	h := fnv.New64a()
	for _, w := range words {
		_, _ = h.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(w)))) // a hash takes everything
		_, _ = h.Write([]byte(w))
	}
	return h.Sum64()
}
