package topology

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"

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

// document reads the one document of a file.
func (r *reader) document(body []byte) (root *yaml.Node, ok bool) {
	if len(body) > MaxBytes {
		r.fault(0, "%d bytes: want at most %d", len(body), MaxBytes)
		return nil, false
	}
	decoder := yaml.NewDecoder(bytes.NewReader(body))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		r.fault(0, "is empty; see infra/local/wan.yaml for one that is not")
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
	return first.Content[0], true
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
	r.fault(line, "is not YAML: %s", text)
}

// plain reports what YAML allows and wan.yaml has no use for.
func (r *reader) plain(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode:
		r.fault(n.Line, "alias *%s: write the value out", n.Value)
		return
	case n.Anchor != "":
		r.fault(n.Line, "anchor &%s: leave it out; aliases are not read", n.Anchor)
	case n.Style&yaml.TaggedStyle != 0:
		r.fault(n.Line, "tag %s: leave it out", n.Tag)
	}
	for _, c := range n.Content {
		r.plain(c)
	}
}

// mapping reads the keys of a section, and reports those that are unknown or there twice.
func (r *reader) mapping(at string, n *yaml.Node, known ...string) (section, bool) {
	s := section{r: r, at: at, line: n.Line, values: map[string]*yaml.Node{}}
	if n.Kind != yaml.MappingNode {
		r.wrong(at, n, "keys and values, such as "+known[0]+": …")
		return s, false
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := key.Value
		first, twice := lines[name]
		switch {
		case key.Kind == yaml.AliasNode: // reported by plain
		case key.Kind != yaml.ScalarNode:
			r.fault(key.Line, "%s: a key that is not a word; want one of %s", orFile(at), list(known))
		case twice:
			r.fault(key.Line, "%s: also in line %d; leave one of them", s.place(name), first)
		case !slices.Contains(known, name):
			r.fault(key.Line, "%s: unknown key; want one of %s", s.place(name), list(known))
			lines[name] = key.Line
		default:
			lines[name], s.values[name] = key.Line, value
		}
	}
	return s, true
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
	default:
		r.fault(n.Line, "%s %q: want %s", orFile(at), n.Value, want)
	}
}

func orFile(at string) string {
	if at == "" {
		return "the file"
	}
	return at
}
