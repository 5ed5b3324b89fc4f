package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// reader walks a YAML document and gathers what is wrong with it. What it cannot read it
// reports once, and answers with ok = false.
type reader struct{ faults Faults }

func (r *reader) fault(line int, format string, args ...any) {
	r.faults = append(r.faults, Fault{Line: line, Text: fmt.Sprintf(format, args...)})
}

var (
	yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	// The YAML library counts lines from 1 in the errors of its scanner and from 0 in those of
	// its parser, which are these.
	parserError = regexp.MustCompile(`^did not find expected (<document start>|node content|'-' indicator|key|',' or)`)
)

// document reads the one document of a file. Nodes keep their lines, and their aliases are
// not followed, so no file unpacks to more than it holds.
func (r *reader) document(body []byte) (root *yaml.Node, ok bool) {
	if len(body) > MaxBytes {
		r.fault(0, "%d bytes: want at most %d", len(body), MaxBytes)
		return nil, false
	}
	if !utf8.Valid(body) {
		r.fault(lineOfInvalid(body), "is not UTF-8")
		return nil, false
	}
	decoder := yaml.NewDecoder(bytes.NewReader(body))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		r.fault(0, "is empty")
		return nil, false
	case err != nil:
		r.notYAML(err)
		return nil, false
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		r.fault(second.Line, "a second document begins: want one")
		return nil, false
	case !errors.Is(err, io.EOF):
		r.notYAML(err)
		return nil, false
	}
	r.plain(&first)
	if len(first.Content) == 0 {
		r.fault(0, "is empty")
		return nil, false
	}
	return first.Content[0], true
}

func lineOfInvalid(body []byte) int {
	line := 1
	for len(body) > 0 {
		c, size := utf8.DecodeRune(body)
		if c == utf8.RuneError && size == 1 {
			break
		}
		if c == '\n' {
			line++
		}
		body = body[size:]
	}
	return line
}

func (r *reader) notYAML(err error) {
	text, line := err.Error(), 0
	if m := yamlError.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1]) // empty: no line
		text = text[len(m[0]):]
	}
	if parserError.MatchString(text) {
		line++
	}
	if strings.Contains(text, "alphabetic or numeric") || strings.Contains(text, "unknown anchor") {
		text += "; put a value that begins with * in quotes"
	}
	r.fault(line, "is not YAML: %s", text)
}

// plain reports what YAML allows and sweep.yaml has no use for: two ways to say one thing, and
// values that are not what they look like.
func (r *reader) plain(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode:
		r.fault(n.Line, "alias *%s: write the value out", n.Value)
		return
	case n.Anchor != "":
		r.fault(n.Line, "anchor &%s: leave it out; aliases are not read", n.Anchor)
	case n.Style&yaml.TaggedStyle != 0:
		r.fault(n.Line, "tag %s: leave it out", quote(n.Tag))
	}
	for _, c := range n.Content {
		r.plain(c)
	}
}

// section is a mapping of the file whose keys are known.
type section struct {
	r      *reader
	at     string // where it is, such as probes[1]; empty for the file itself
	line   int
	keys   map[string]int // the keys' lines
	values map[string]*yaml.Node
	meant  map[string]bool // keys that an unknown one probably stands for
}

func (s section) place(key string) string {
	if s.at == "" {
		return key
	}
	return s.at + "." + key
}

// lineOf is the line of a key's value, or the section's when the key is absent.
func (s section) lineOf(key string) int {
	if n := s.values[key]; n != nil {
		return n.Line
	}
	return s.line
}

// has says whether the key is there, whatever its value.
func (s section) has(key string) bool { return s.values[key] != nil }

// need reports the keys that are missing.
func (s section) need(keys ...string) {
	for _, key := range keys {
		if !s.has(key) && !s.meant[key] {
			s.r.fault(s.line, "%s: missing", s.place(key))
		}
	}
}

// mapping reads the keys of a section, and reports those that are unknown or there twice.
func (r *reader) mapping(at string, n *yaml.Node, known ...string) (section, bool) {
	s := section{r: r, at: at, line: n.Line, keys: map[string]int{}, values: map[string]*yaml.Node{}, meant: map[string]bool{}}
	if n.Kind != yaml.MappingNode {
		r.wrong(at, n, "keys and values, such as "+known[0]+": …")
		return s, false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := key.Value
		first, twice := s.keys[name]
		switch {
		case key.Kind == yaml.AliasNode: // reported by plain
		case key.Kind != yaml.ScalarNode:
			r.fault(key.Line, "%s: a key that is not a word", orFile(at))
		case twice:
			r.fault(key.Line, "%s: also in line %d; leave one of them", s.place(cut(name)), first)
		case !slices.Contains(known, name):
			r.fault(key.Line, "%s: unknown key; %s", s.place(cut(name)), suggest(name, known))
			s.keys[name] = key.Line
			if near, ok := nearest(name, known); ok {
				s.meant[near] = true
			}
		default:
			s.keys[name], s.values[name] = key.Line, value
		}
	}
	return s, true
}

// texts reads a list of texts; entries that are not texts are reported and left out. nodes
// are those of the texts.
func (s section) texts(key, example string) (texts []string, nodes []*yaml.Node) {
	n := s.values[key]
	if n == nil {
		return nil, nil
	}
	if n.Kind != yaml.SequenceNode {
		s.r.wrong(s.place(key), n, "a list, such as "+example)
		return nil, nil
	}
	if len(n.Content) == 0 {
		s.r.fault(n.Line, "%s: is empty; want a list, such as %s", s.place(key), example)
	}
	for i, c := range n.Content {
		if t, ok := s.r.text(fmt.Sprintf("%s[%d]", s.place(key), i), c); ok {
			texts, nodes = append(texts, t), append(nodes, c)
		}
	}
	return texts, nodes
}

// text reads a key's text; ok is false when it is absent or not a text.
func (s section) text(key string) (string, bool) {
	if n := s.values[key]; n != nil {
		return s.r.text(s.place(key), n)
	}
	return "", false
}

func (r *reader) text(at string, n *yaml.Node) (string, bool) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && n.Value != "" {
		return n.Value, true
	}
	r.wrong(at, n, "a text")
	return "", false
}

// number reads a key's whole number. It leaves to alone when the key is absent, and says
// whether to can be relied on.
func (s section) number(key string, to *int) bool {
	n := s.values[key]
	if n == nil {
		return true
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" {
		// No hexadecimal, no octal with a zero in front, no underscores: what is written is
		// what is meant.
		if v, err := strconv.Atoi(n.Value); err == nil && strconv.Itoa(v) == n.Value {
			*to = v
			return true
		}
	}
	s.r.wrong(s.place(key), n, "a whole number")
	return false
}

// duration is like number, for a time with its unit.
func (s section) duration(key string, to *time.Duration) bool {
	n := s.values[key]
	if n == nil {
		return true
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		if v, err := time.ParseDuration(n.Value); err == nil {
			*to = v
			return true
		}
	}
	s.r.wrong(s.place(key), n, "a time with its unit, such as 20ms, 30s or 3m")
	return false
}

// flag is like number, for true and false.
func (s section) flag(key string, to *bool) {
	n := s.values[key]
	switch {
	case n == nil:
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" && (n.Value == "true" || n.Value == "false"):
		*to = n.Value == "true"
	default:
		s.r.wrong(s.place(key), n, "true or false")
	}
}

// wrong reports a value of another kind than is wanted.
func (r *reader) wrong(at string, n *yaml.Node, want string) {
	switch {
	case n.Kind == yaml.AliasNode: // reported by plain
	case n.Kind == yaml.MappingNode:
		r.fault(n.Line, "%s: has keys of its own; want %s", orFile(at), want)
	case n.Kind == yaml.SequenceNode:
		r.fault(n.Line, "%s: is a list; want %s", orFile(at), want)
	case n.ShortTag() == "!!null" || n.Value == "":
		r.fault(n.Line, "%s: has no value; want %s", orFile(at), want)
	case want == "a text":
		r.fault(n.Line, "%s %s: want a text; put it in quotes", orFile(at), cut(n.Value))
	default:
		r.fault(n.Line, "%s %s: want %s", orFile(at), quote(n.Value), want)
	}
}

func orFile(at string) string {
	if at == "" {
		return "the file"
	}
	return at
}

// cut makes a word of the file fit for a message that has no quotes around it.
func cut(s string) string {
	quoted := quote(s)
	if quoted == `"`+s+`"` && s != "" {
		return s
	}
	return quoted
}
