// Package charset turns the bytes of a text into UTF-8: byte-order marks, UTF-16 and UTF-32, the
// encoding that an XML declaration names, and the wrappings in which documents travel: gzip, base64,
// and the envelope that Logic Apps makes of what it takes for octets.
package charset

import (
	"bufio"
	"fmt"
	"io"
)

// Limits of what is unwrapped.
const (
	// MaxRatio is how many times the size of the whole body any gzip stream in it may have, once it is
	// larger than a few megabytes: text packs 30 to 1, deflate at most 1,032 to 1, so that only gzip
	// inside gzip has more.
	MaxRatio = 1100
	// MaxWrappings is how many wrappings may be around each other.
	MaxWrappings = 4
)

const (
	freeBytes = 4 << 20  // what gzip may come to without a look at its ratio
	heldBytes = 64 << 20 // the most that is undone in memory
	headBytes = 4 << 10  // what recognition looks at
)

// Unwrapped is a text as UTF-8.
type Unwrapped struct {
	io.Reader
	// Steps says what was undone, outermost first: gzip, base64, envelope, JSON string, byte-order
	// mark, UTF-16LE, windows-1252 …
	Steps []string
}

// Fault says why a text cannot be read as UTF-8.
type Fault struct {
	Offset int64 // bytes in front of the place in the innermost text, as UTF-8 without a byte-order mark, or -1
	Reason string
	Remedy string
	// Damaged says that the wrapping is damaged, TooLarge that it holds more than most.
	Damaged, TooLarge bool

	unheld bool // more than may be held would have to be undone in memory
}

// Error gives the reason.
func (f *Fault) Error() string { return f.Reason }

const (
	remedyAgain  = "it was cut off or damaged on its way: send it again"
	remedySplit  = "split it into several documents"
	remedyEncode = "send it as UTF-8, or name its encoding in the XML declaration"
)

// Unwrap undoes wrappings and encodings, and stops after most bytes of text with a Fault that says
// TooLarge; most ≤ 0 is no limit. Gzip and encodings are undone as they are read, in constant memory;
// base64, the envelope and a JSON string in memory, of at most 64 MiB, and half as much again as most. What is not valid in its
// encoding, and a NUL, is a *Fault when that place is read: nothing is replaced silently.
func Unwrap(in io.Reader, most int64) (*Unwrapped, error) {
	held := int64(heldBytes)
	if most > 0 {
		held = min(held, most+most/2+headBytes) // base64 of most, with line breaks
	}
	return unwrap(in, most, held)
}

// unwrap is Unwrap that undoes at most so many bytes in memory.
func unwrap(in io.Reader, most, mayHold int64) (*Unwrapped, error) {
	body := &counted{in: in}
	out := &Unwrapped{}
	layer := layer{in: bufio.NewReaderSize(body, headBytes)}
	for wrappings := 0; ; wrappings++ {
		inner, err := layer.unwrap(body, out, mayHold)
		if err != nil {
			return nil, err
		}
		if inner.text != nil {
			out.Reader = inner.text
			if most > 0 {
				out.Reader = &limited{in: inner.text, most: most, left: most}
			}
			return out, nil
		}
		if wrappings == MaxWrappings {
			return nil, &Fault{Offset: -1, Reason: fmt.Sprintf("more than %d wrappings are around each other", MaxWrappings), Remedy: "send the document itself"}
		}
		layer = inner
	}
}

// layer is what stands between two wrappings: octets of an encoding, or text that is UTF-8 already.
type layer struct {
	in      *bufio.Reader
	decoded bool   // it is characters already: what the XML declaration says has no meaning
	charset string // what the wrapping says of the encoding
	// text is set instead when there is nothing left to undo.
	text io.Reader
}

// unwrap undoes one wrapping, or else says that the text is the innermost.
func (l *layer) unwrap(body *counted, out *Unwrapped, mayHold int64) (layer, error) {
	if head, _ := l.in.Peek(2); len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b { // RFC 1952, section 2.3.1
		out.Steps = append(out.Steps, "gzip")
		unpacked, err := gunzip(l.in, body)
		if err != nil {
			return layer{}, err
		}
		return layer{in: bufio.NewReaderSize(unpacked, headBytes), charset: l.charset}, nil
	}
	decoded, steps, err := l.decode()
	if err != nil {
		return layer{}, err
	}
	out.Steps = append(out.Steps, steps...)
	text := bufio.NewReaderSize(&checked{in: decoded, line: 1}, headBytes)
	head, _ := text.Peek(headBytes)
	for _, w := range wrappings {
		if !w.begins(head) {
			continue
		}
		held, err := hold(text, w.name, mayHold)
		if err != nil {
			return layer{}, err
		}
		inner, ok, err := w.undo(held)
		if err != nil {
			return layer{}, err
		}
		if !ok { // it only looked like one
			return layer{text: held.reader()}, nil
		}
		out.Steps = append(out.Steps, w.name)
		return inner, nil
	}
	return layer{text: text}, nil
}
