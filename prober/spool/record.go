package spool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// A record is a document as its file has it: one line, then the body, byte for byte as it is
// delivered, so that a person can take a document out by hand.
//
//	isochrone-spool 1 <sha256> <stored> <length> <name>\n
//	<body>
//
// sha256 is of all that follows it and its blank, in hexadecimal; stored is in milliseconds of Unix
// time; length is the body's, in bytes.
const (
	mark     = "isochrone-spool 1 "
	sumChars = 2 * sha256.Size
	maxName  = 512
	// maxHead is more than a first line can have: two numbers of 20 characters at most.
	maxHead = len(mark) + sumChars + maxName + 50
)

var errCorrupt = errors.New("the file is not what was written")

// head is what a record says of its document.
type head struct {
	stored int64 // milliseconds of Unix time
	length int64
	name   string
}

func (d *document) head() head {
	return head{stored: d.stored.UnixMilli(), length: d.length, name: d.name}
}

func (h head) time() time.Time { return time.UnixMilli(h.stored).UTC() }

func checkName(name string) error {
	if n := len(name); n < 1 || n > maxName {
		return fmt.Errorf("name of %d characters: want 1 to %d", n, maxName)
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] > '~' {
			return fmt.Errorf("name %q: want printable characters of ASCII without blanks", name)
		}
	}
	return nil
}

// appendHead appends the first line. sum may be nil, which leaves its place.
func appendHead(to []byte, h head, sum []byte) []byte {
	to = append(to, mark...)
	if sum == nil {
		sum = make([]byte, sha256.Size)
	}
	to = append(hex.AppendEncode(to, sum), ' ')
	to = append(strconv.AppendInt(to, h.stored, 10), ' ')
	to = append(strconv.AppendInt(to, h.length, 10), ' ')
	return append(append(to, h.name...), '\n')
}

// encode is the record of a document.
func encode(h head, body []byte) []byte {
	out := make([]byte, 0, maxHead+len(body))
	out = append(appendHead(out, h, nil), body...)
	sum := sha256.Sum256(out[len(mark)+sumChars+1:])
	hex.Encode(out[len(mark):], sum[:])
	return out
}

// decodeHead reads the first line, and returns its length too. Only what encode writes is taken.
func decodeHead(b []byte) (h head, sum []byte, n int, err error) {
	line, _, found := bytes.Cut(b[:min(len(b), maxHead)], []byte("\n"))
	fields := bytes.Split(line, []byte(" "))
	if !found || len(fields) != 6 {
		return head{}, nil, 0, fmt.Errorf("%w: no first line of a record", errCorrupt)
	}
	var faults [3]error
	sum = make([]byte, sha256.Size)
	if len(fields[2]) == sumChars {
		_, faults[0] = hex.Decode(sum, fields[2])
	}
	h.stored, faults[1] = strconv.ParseInt(string(fields[3]), 10, 64)
	h.length, faults[2] = strconv.ParseInt(string(fields[4]), 10, 64)
	h.name = string(fields[5])
	if err := errors.Join(faults[:]...); err != nil || h.length < 0 || checkName(h.name) != nil || !bytes.Equal(appendHead(nil, h, sum), b[:len(line)+1]) {
		return head{}, nil, 0, fmt.Errorf("%w: a first line that no record has", errCorrupt)
	}
	return h, sum, len(line) + 1, nil
}

// decode is the inverse of encode. Every error is errCorrupt.
func decode(b []byte) (head, []byte, error) {
	h, sum, n, err := decodeHead(b)
	if err != nil {
		return head{}, nil, err
	}
	body := b[n:]
	if int64(len(body)) != h.length {
		return head{}, nil, fmt.Errorf("%w: a body of %d bytes, not %d", errCorrupt, len(body), h.length)
	}
	if got := sha256.Sum256(b[len(mark)+sumChars+1:]); !bytes.Equal(got[:], sum) {
		return head{}, nil, fmt.Errorf("%w: its checksum differs", errCorrupt)
	}
	return h, body, nil
}
