package charset

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/transform"
)

// invalid is what a decoder finds; who reads from it knows the place.
type invalid struct{ why, remedy string }

func (i *invalid) Error() string { return i.why }

// utf8Reader passes UTF-8 on, and nothing else.
type utf8Reader struct{ transform.NopResetter }

func (*utf8Reader) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	if len(src) > len(dst) {
		src, err = src[:len(dst)], transform.ErrShortDst
	}
	at := 0
	for at < len(src) {
		if src[at] < utf8.RuneSelf {
			at++
			continue
		}
		r, size := utf8.DecodeRune(src[at:])
		if r == utf8.RuneError && size <= 1 {
			switch {
			case utf8.FullRune(src[at:]) || atEOF && err == nil:
				err = &invalid{fmt.Sprintf("the byte 0x%02x is not UTF-8", src[at]), remedyEncode}
			case err == nil:
				err = transform.ErrShortSrc
			}
			break
		}
		at += size
	}
	copy(dst, src[:at])
	return at, at, err
}

// utf16Reader decodes UTF-16 of either order of bytes (RFC 2781).
type utf16Reader struct {
	transform.NopResetter
	big bool
}

func (u *utf16Reader) unit(src []byte) rune {
	if u.big {
		return rune(src[0])<<8 | rune(src[1])
	}
	return rune(src[1])<<8 | rune(src[0])
}

func (u *utf16Reader) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	short := func(why string) error {
		if atEOF {
			return &invalid{why, remedyAgain}
		}
		return transform.ErrShortSrc
	}
	for nSrc < len(src) {
		rest := src[nSrc:]
		if len(rest) < 2 {
			return nDst, nSrc, short("the text, which is UTF-16, ends within a character")
		}
		r, size := u.unit(rest), 2
		if utf16.IsSurrogate(r) {
			if len(rest) < 4 {
				return nDst, nSrc, short("the text, which is UTF-16, ends within a character")
			}
			pair := utf16.DecodeRune(r, u.unit(rest[2:]))
			if pair == utf8.RuneError {
				return nDst, nSrc, &invalid{fmt.Sprintf("half a pair of UTF-16 (0x%04x) stands alone", r), "send it as UTF-8"}
			}
			r, size = pair, 4
		}
		if len(dst)-nDst < utf8.UTFMax {
			return nDst, nSrc, transform.ErrShortDst
		}
		nDst += utf8.EncodeRune(dst[nDst:], r)
		nSrc += size
	}
	return nDst, nSrc, nil
}

// strict is a decoder that stops where it would write U+FFFD for what it cannot read.
type strict struct {
	transform.Transformer
	name string
}

var replacement = []byte("\uFFFD")

func (s *strict) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	nDst, nSrc, err = s.Transformer.Transform(dst, src, atEOF)
	if at := bytes.Index(dst[:nDst], replacement); at >= 0 {
		return at, nSrc, &invalid{fmt.Sprintf("a byte is not %.40s, which it is said to be", s.name), "send it as UTF-8, or name the encoding that it has"}
	}
	return nDst, nSrc, err
}
