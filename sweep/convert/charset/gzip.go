package charset

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// unpacking reads a gzip stream of one or more members.
type unpacking struct {
	z    *gzip.Reader
	body *counted
	n    int64
	err  error
}

func gunzip(in *bufio.Reader, body *counted) (*unpacking, error) {
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, damaged(err, body, "the gzip stream is damaged")
	}
	return &unpacking{z: z, body: body}, nil
}

func (u *unpacking) Read(p []byte) (int, error) {
	if u.err != nil {
		return 0, u.err
	}
	n, err := u.z.Read(p)
	u.n += int64(n)
	switch {
	case errors.Is(err, gzip.ErrHeader):
		err = damaged(err, u.body, "what follows the gzip stream is not gzip")
	case err != nil && !errors.Is(err, io.EOF):
		err = damaged(err, u.body, "the gzip stream is damaged")
	case u.n > freeBytes && u.n/MaxRatio > u.body.n:
		n, err = 0, &Fault{Offset: -1, Reason: fmt.Sprintf("it unpacks to more than %d times its size", MaxRatio), Remedy: "send the document itself", TooLarge: true}
	}
	u.err = err
	return n, err
}

// damaged is a fault, unless the body itself could not be read.
func damaged(err error, body *counted, what string) error {
	if own := body.failed(); own != nil {
		return own
	}
	if fault, ok := errors.AsType[*Fault](err); ok {
		return fault
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		what = "the gzip stream is cut off"
	} else if errors.Is(err, gzip.ErrChecksum) {
		what += ": its checksum is wrong"
	}
	return &Fault{Offset: -1, Reason: what, Remedy: remedyAgain, Damaged: true}
}
