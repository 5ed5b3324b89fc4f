package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// WriteFrame writes v as a frame: the length of its JSON (4 octets, big-endian), and the JSON, in
// one write.
func WriteFrame(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing a frame: %w", err)
	}
	if len(body) > MaxFrameBytes {
		return fmt.Errorf("writing a frame: %d bytes of JSON: want at most %d", len(body), MaxFrameBytes)
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	if _, err := w.Write(append(frame, body...)); err != nil {
		return fmt.Errorf("writing a frame: %w", err)
	}
	return nil
}

// ErrFrame marks a frame that is not one: what came was whole, and can never be understood.
var ErrFrame = errors.New("not a frame")

// ReadFrame reads one frame into v, and not an octet more. io.EOF means that the stream ended
// before it. Fields that v does not have are a fault: who asks for what this program does not know
// has to hear so, not to get something else.
func ReadFrame(r io.Reader, v any) error { return readFrame(r, v, MaxFrameBytes) }

// ReadOpening is ReadFrame for an Opening, which a peer sends before it is known what it may have.
func ReadOpening(r io.Reader, o *Opening) error { return readFrame(r, o, MaxOpeningBytes) }

func readFrame(r io.Reader, v any, most uint32) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		return fmt.Errorf("reading a frame: %w", err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > most {
		return fmt.Errorf("reading a frame: %w: it claims %d bytes, of at most %d", ErrFrame, n, most)
	}
	// As it comes, so that a claim alone costs nothing.
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, int64(n)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("reading a frame: %w", err)
	}
	decoder := json.NewDecoder(&body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return fmt.Errorf("reading a frame: %w: %w", ErrFrame, plain(err))
	}
	if rest := body.Len() + buffered(decoder); rest > 0 {
		return fmt.Errorf("reading a frame: %w: %d bytes after its JSON", ErrFrame, rest)
	}
	return nil
}

// plain keeps the text of an error about the JSON, and hides that JSON may end too early: the stream
// did not.
func plain(err error) error { return errors.New(err.Error()) }

func buffered(d *json.Decoder) int {
	rest, _ := io.ReadAll(d.Buffered()) // from memory
	return len(rest)
}
