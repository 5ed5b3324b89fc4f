package convert

import (
	"bytes"
	"fmt"
)

// maxTagBytes bounds one tag with its attributes. encoding/xml gathers all attributes of a tag
// before anyone can count them, so they are bounded before it sees the text.
const maxTagBytes = 4 << 10

// checkMarkup looks at the markup alone, before encoding/xml does: document type definitions
// and processing instructions are refused, and no tag, text or comment is so long that holding
// it would hurt. It does not check that the text is well-formed.
func checkMarkup(text []byte) error {
	refuse := func(at int, remedy, format string, args ...any) error {
		return &Refusal{Stage: StageRead, Text: fmt.Sprintf(format, args...), Offset: int64(at), Remedy: remedy}
	}
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], '<')
		if i > maxColumnBytes || i < 0 && len(text)-at > maxColumnBytes {
			return refuse(at, remedySplit, "a text of more than %d bytes", maxColumnBytes)
		}
		if i < 0 {
			return nil
		}
		at += i
		rest := text[at:]
		length, what := 0, "tag"
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			length, what = closing(rest, 4, "-->"), "comment"
		case bytes.HasPrefix(rest, []byte("<![CDATA[")):
			length, what = closing(rest, 9, "]]>"), "CDATA section"
		case bytes.HasPrefix(rest, []byte("<!")):
			return refuse(at, "leave it out: entities and document types are never read", "a document type definition (DTD)")
		case bytes.HasPrefix(rest, []byte("<?xml")) && at == len(text)-len(bytes.TrimLeft(text, blanks)):
			length, what = closing(rest[:min(len(rest), maxTagBytes)], 2, "?>"), "XML declaration"
		case bytes.HasPrefix(rest, []byte("<?")):
			return refuse(at, "leave it out", "a processing instruction")
		default:
			length = tagLength(rest[:min(len(rest), maxTagBytes)])
		}
		if length == 0 && what == "tag" && len(rest) > maxTagBytes {
			return refuse(at, remedyFormat, "a tag of more than %d bytes", maxTagBytes)
		}
		if length > maxColumnBytes {
			return refuse(at, "leave it out", "a %s of more than %d bytes", what, maxColumnBytes)
		}
		if length == 0 {
			return refuse(at, remedyAgain, "a %s that begins here and does not end", what)
		}
		at += length
	}
}

// closing is the length up to the end of mark, or 0.
func closing(b []byte, from int, mark string) int {
	i := bytes.Index(b[min(from, len(b)):], []byte(mark))
	if i < 0 {
		return 0
	}
	return from + i + len(mark)
}

// tagLength is the length of a tag up to its >, those inside quotes left out, or 0.
func tagLength(b []byte) int {
	var quoted byte
	for i, c := range b {
		switch {
		case quoted != 0:
			if c == quoted {
				quoted = 0
			}
		case c == '"' || c == '\'':
			quoted = c
		case c == '>':
			return i + 1
		}
	}
	return 0
}
