package bare

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// Samples is one Parquet file, unpacked.
type Samples struct {
	schema *parquet.Schema
	rows   []parquet.Row
}

// ReadSamples unpacks a Parquet file.
func ReadSamples(body []byte) (Samples, error) {
	f, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return Samples{}, fmt.Errorf("reading samples back: %w", err)
	}
	reader := parquet.NewReader(f)
	rows := make([]parquet.Row, f.NumRows())
	if _, err := reader.ReadRows(rows); err != nil && !errors.Is(err, io.EOF) {
		return Samples{}, fmt.Errorf("reading samples back: %w", err)
	}
	for i := range rows { // they lie in the reader's own buffers
		rows[i] = rows[i].Clone()
	}
	return Samples{f.Schema(), rows}, nil
}

// Count is the number of samples.
func (s Samples) Count() int { return len(s.rows) }

// Encode packs them again.
func (s Samples) Encode() ([]byte, error) {
	var out bytes.Buffer
	w := parquet.NewWriter(&out, s.schema, parquet.Compression(&zstd.Codec{}))
	if _, err := w.WriteRows(s.rows); err != nil {
		return nil, fmt.Errorf("writing samples: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("writing samples: %w", err)
	}
	return out.Bytes(), nil
}
