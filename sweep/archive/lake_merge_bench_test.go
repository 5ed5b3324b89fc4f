package archive

import (
	"io"
	"testing"
)

func BenchmarkSampleMerge(b *testing.B) {
	files := dayFiles(b, 20, 15_000)
	ids := idsOf(files)
	rows := 0
	for b.Loop() {
		m := NewSampleMerge("tcp-64", b.TempDir())
		for _, id := range ids {
			addRaw(b, m, id, files[id])
		}
		must(b, m.Write(io.Discard))
		must(b, m.Close())
		rows += int(m.Sum().Rows)
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}
