package foreign

import (
	"fmt"
	"io"

	"isochrone/prober/wire"
)

// readText reads the whole of a text that is not streamed.
func readText(in io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, wire.MaxDocumentBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > wire.MaxDocumentBytes {
		return nil, &Fault{Offset: NoOffset, Reason: fmt.Sprintf("it has more than %d bytes, and this format is not read as a stream: split it", wire.MaxDocumentBytes)}
	}
	return text, nil
}
