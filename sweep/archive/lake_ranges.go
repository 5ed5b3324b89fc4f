package archive

import (
	"context"
	"errors"
	"io"
)

// How much of a file of samples is read at once.
const (
	// WindowBytes is for all rows.
	WindowBytes = 4 << 20
	// FooterBytes is for the footer alone.
	FooterBytes = 64 << 10
)

// windows is how many windows are held: a row group is read column by column, each of which begins elsewhere.
const windows = 4

// LakeReader reads a file of samples in windows of so many bytes. It is not for several at once.
func LakeReader(ctx context.Context, b LakeBlob, window int64, read func(ctx context.Context, b LakeBlob, at, n int64) ([]byte, error)) io.ReaderAt {
	return &rangeReader{size: b.Size, bytes: window, read: func(at, n int64) ([]byte, error) { return read(ctx, b, at, n) }}
}

// rangeReader reads windows of a file and holds those which were wanted last.
type rangeReader struct {
	size  int64
	bytes int64 // of a window
	read  func(at, n int64) ([]byte, error)
	held  []window // the last one wanted is in front
}

type window struct {
	at   int64
	body []byte
}

// ReadAt implements io.ReaderAt.
func (r *rangeReader) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		if at+int64(n) >= r.size {
			return n, io.EOF
		}
		w, err := r.window((at + int64(n)) / r.bytes * r.bytes)
		if err != nil {
			return n, err
		}
		n += copy(p[n:], w[at+int64(n)-r.held[0].at:])
	}
	return n, nil
}

func (r *rangeReader) window(at int64) ([]byte, error) {
	for i, w := range r.held {
		if w.at == at {
			copy(r.held[1:i+1], r.held[:i])
			r.held[0] = w
			return w.body, nil
		}
	}
	want := min(r.bytes, r.size-at)
	body, err := r.read(at, want)
	if err == nil && int64(len(body)) != want {
		err = errors.New("storage gave another number of bytes than it was asked for")
	}
	if err != nil {
		return nil, err
	}
	if len(r.held) < windows {
		r.held = append(r.held, window{})
	}
	copy(r.held[1:], r.held)
	r.held[0] = window{at, body}
	return body, nil
}
