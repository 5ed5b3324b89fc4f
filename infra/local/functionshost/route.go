package functionshost

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// route is a template below the route prefix: literals, {name}, {name?} and {*name}.
type route struct {
	text     string
	segments []segment
}

type segment struct {
	kind segmentKind
	text string // the literal, or the parameter's name
}

// The kinds stand in the order in which routes are tried.
type segmentKind int

const (
	literal segmentKind = iota
	parameter
	optional
	catchAll
)

func parseRoute(text string) (route, error) {
	r := route{text: strings.Trim(text, "/")}
	lower := strings.ToLower(r.text)
	// The host compares beginnings: administration is taken as well.
	if strings.HasPrefix(lower, "admin") || strings.HasPrefix(lower, "runtime") {
		return route{}, errors.New("the specified route conflicts with one or more built in routes")
	}
	if r.text == "" {
		return r, nil
	}
	parts := strings.Split(r.text, "/")
	seen := map[string]bool{}
	for i, part := range parts {
		s, err := parseSegment(part)
		if err != nil {
			return route{}, err
		}
		switch {
		case s.kind != literal && seen[strings.ToLower(s.text)]:
			return route{}, fmt.Errorf("the parameter '%s' appears twice", s.text)
		case (s.kind == catchAll || s.kind == optional) && i < len(parts)-1:
			return route{}, fmt.Errorf("'%s' must be the last segment", part)
		}
		if s.kind != literal {
			seen[strings.ToLower(s.text)] = true
		}
		r.segments = append(r.segments, s)
	}
	return r, nil
}

func parseSegment(part string) (segment, error) {
	if part == "" {
		return segment{}, errors.New("two slashes in a row")
	}
	if !strings.ContainsAny(part, "{}") {
		return segment{kind: literal, text: part}, nil
	}
	inner, ok := strings.CutPrefix(part, "{")
	if ok {
		inner, ok = strings.CutSuffix(inner, "}")
	}
	if !ok || strings.ContainsAny(inner, "{}:=") {
		return segment{}, fmt.Errorf("'%s': this host knows {name}, {name?} and {*name} only", part)
	}
	s := segment{kind: parameter, text: inner}
	if name, all := strings.CutPrefix(inner, "*"); all {
		s = segment{kind: catchAll, text: strings.TrimPrefix(name, "*")}
	} else if name, opt := strings.CutSuffix(inner, "?"); opt {
		s = segment{kind: optional, text: name}
	}
	if s.text == "" || strings.ContainsAny(s.text, "*?") {
		return segment{}, fmt.Errorf("'%s': the parameter has no proper name", part)
	}
	return s, nil
}

// match holds an escaped path, without the prefix and without slashes around it, against the
// template. A parameter that is absent is nil.
func (r route) match(path string) (params map[string]any, ok bool) {
	var parts []string
	if path != "" {
		parts = strings.Split(path, "/")
	}
	params = map[string]any{}
	for i, s := range r.segments {
		var part string
		if i < len(parts) {
			part = parts[i]
			if s.kind == catchAll {
				part = strings.Join(parts[i:], "/")
			}
		}
		value, err := url.PathUnescape(part)
		if err != nil {
			return nil, false
		}
		switch {
		case s.kind == literal:
			if i >= len(parts) || !strings.EqualFold(value, s.text) {
				return nil, false
			}
		case i >= len(parts):
			if s.kind == parameter {
				return nil, false
			}
			params[s.text] = nil
		default:
			params[s.text] = value
		}
	}
	if n := len(r.segments); len(parts) > n && (n == 0 || r.segments[n-1].kind != catchAll) {
		return nil, false
	}
	return params, true
}

// before says whether r is tried before other: the more literal one is.
func (r route) before(other route) bool {
	for i := 0; i < len(r.segments) && i < len(other.segments); i++ {
		if a, b := r.segments[i].kind, other.segments[i].kind; a != b {
			return a < b
		}
	}
	return len(r.segments) > len(other.segments)
}
