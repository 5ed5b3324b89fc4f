package foreign

import (
	"bytes"
	"fmt"
	"io"

	"isochrone/prober/wire"
)

// Text is a text in memory. A format that is not streamed reads it where it lies, and another one as it
// reads any: so none of it is there twice.
type Text struct {
	bytes.Reader
	body []byte
}

// NewText makes a Text of a body, which must not be changed any more.
func NewText(body []byte) *Text {
	t := &Text{body: body}
	t.Reset(body)
	return t
}

// Head is the part of the text that Recognise looks at.
func (t *Text) Head() []byte { return t.body[:min(len(t.body), HeadBytes)] }

// readText reads the whole of a text that is not streamed.
func readText(in io.Reader) (text []byte, err error) {
	if t, ok := in.(*Text); ok {
		text = t.body
	} else if text, err = io.ReadAll(io.LimitReader(in, wire.MaxDocumentBytes+1)); err != nil {
		return nil, err
	}
	if len(text) > wire.MaxDocumentBytes {
		return nil, &Fault{Offset: NoOffset, Reason: fmt.Sprintf("it has more than %d bytes, and this format is not read as a stream: split it", wire.MaxDocumentBytes)}
	}
	return text, nil
}
