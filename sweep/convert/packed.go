package convert

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"isochrone/prober/wire"
)

var gzipMagic = []byte{0x1f, 0x8b} // RFC 1952, section 2.3.1

// Packed is a body of which is known how large it is unpacked: what it costs to read it follows
// from that, and not from the length of the body.
type Packed struct {
	body []byte
	size int64
}

// Measure finds the size of a body that may be gzipped, by a pass that keeps nothing, so that a
// small body cannot make us hold more than a document may be. The error is a *Refusal.
func Measure(body []byte) (*Packed, error) {
	if len(body) > wire.MaxDocumentBytes {
		return nil, tooLarge(StageRecognise, fmt.Sprintf("the body has %d bytes", len(body)))
	}
	if !bytes.HasPrefix(body, gzipMagic) {
		return &Packed{body, int64(len(body))}, nil
	}
	size, err := gunzip(body, io.Discard)
	if err != nil {
		return nil, damaged(size, err)
	}
	if size > wire.MaxDocumentBytes {
		return nil, tooLarge(StageUnpack, fmt.Sprintf("%d bytes of gzip unpack to more than a document may hold", len(body)))
	}
	return &Packed{body, size}, nil
}

// Size is the size unpacked, in bytes.
func (p *Packed) Size() int64 { return p.size }

// head is the beginning of what is packed, as much as tells how it is encoded.
func (p *Packed) head() []byte {
	head := make([]byte, 4<<10)
	var in io.Reader = bytes.NewReader(p.body)
	if bytes.HasPrefix(p.body, gzipMagic) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil
		}
		in = z
	}
	n, _ := io.ReadFull(in, head) // it was read to its end once; a short one has a short head
	return head[:n]
}

// unpack undoes gzip, if there is any.
func (p *Packed) unpack() ([]byte, error) {
	if !bytes.HasPrefix(p.body, gzipMagic) {
		return p.body, nil
	}
	text := bytes.NewBuffer(make([]byte, 0, p.size+bytes.MinRead)) // MinRead: ReadFrom wants it free, or it doubles the buffer
	if size, err := gunzip(p.body, text); err != nil {
		return nil, damaged(size, err)
	}
	return text.Bytes(), nil
}

func damaged(at int64, err error) *Refusal {
	return &Refusal{Stage: StageUnpack, Text: "the gzip stream is damaged: " + explain(err), Offset: at, Remedy: remedyAgain}
}

// gunzip writes at most one byte more than a document may hold, and returns how many it wrote.
func gunzip(body []byte, to io.Writer) (int64, error) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	return io.Copy(to, io.LimitReader(z, wire.MaxDocumentBytes+1))
}
