package charset

import (
	"bytes"
	"errors"
	"io"
)

// IsPlain says that a text whose first 4 KiB are these is UTF-8 and not wrapped, if it can be read at
// all: what Unwrap gives of it is as long as the text, or shorter by a byte-order mark.
func IsPlain(head []byte) bool {
	head = bytes.TrimPrefix(head[:min(len(head), headBytes)], []byte("\uFEFF"))
	if bytes.HasPrefix(head, []byte{0x1f, 0x8b}) || declared(head) != "" {
		return false
	}
	for _, m := range marks {
		if bytes.HasPrefix(head, []byte(m.bytes)) {
			return false
		}
	}
	for _, w := range wrappings {
		if w.begins(head) {
			return false
		}
	}
	return true
}

// Measure is how many bytes Unwrap gives of a text, found by a pass that keeps nothing of it. A wrapping
// that is undone in memory is, if it has at most so many bytes as may be held; known is false when that
// is not enough. The error is the one that Unwrap gives, there or while the text is read.
func Measure(in io.Reader, most, mayHold int64) (size int64, known bool, err error) {
	u, err := unwrap(in, most, mayHold)
	if err == nil {
		size, err = io.Copy(io.Discard, u)
	}
	if fault, ok := errors.AsType[*Fault](err); ok && fault.unheld {
		return 0, false, nil
	}
	return size, err == nil, err
}
