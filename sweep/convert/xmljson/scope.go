package xmljson

// scope is the namespace declarations that hold at a place.
type scope struct {
	declared []declared
	active   map[string]int32 // of a prefix: the declaration that holds, plus one
}

type declared struct {
	prefix string
	uri    int32
	hides  int32 // the declaration of the prefix that held before, plus one
}

func newScope() scope { return scope{active: map[string]int32{}} }

func (s *scope) reset() {
	s.declared = s.declared[:0]
	clear(s.active)
}

func (s *scope) len() int { return len(s.declared) }

func (s *scope) push(prefix string, uri int32) {
	s.declared = append(s.declared, declared{prefix, uri, s.active[prefix]})
	s.active[prefix] = int32(len(s.declared))
}

// pop undoes what was pushed since there were so many.
func (s *scope) pop(before int) {
	for i := len(s.declared) - 1; i >= before; i-- {
		s.active[s.declared[i].prefix] = s.declared[i].hides
	}
	s.declared = s.declared[:before]
}

// uri is what a prefix stands for.
func (s *scope) uri(prefix []byte) (int32, bool) {
	if len(s.declared) == 0 {
		return 0, false
	}
	i := s.active[string(prefix)]
	if i == 0 {
		return 0, false
	}
	return s.declared[i-1].uri, true
}

// prefix is the one that stands for a namespace, as XmlNamespaceManager.LookupPrefix finds it: that of the
// declaration that came last and is hidden by none for the same prefix.
func (s *scope) prefix(uri int32) string {
	for i := len(s.declared) - 1; i >= 0; i-- {
		if d := &s.declared[i]; d.uri == uri && s.active[d.prefix] == int32(i+1) {
			return d.prefix
		}
	}
	return ""
}
