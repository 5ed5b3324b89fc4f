package foreign

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"isochrone/prober/wire"
)

// The limits of one file, beside MaxFindings: what is kept is groups, and of each the different elapsed
// times and the threads.
const (
	maxJTLValues  = 400_000
	maxJTLThreads = 100_000 // of all groups together; of more it is not told how many there were
	maxJTLName    = 1024    // bytes of a label or thread
	maxJTLThread  = 48      // bytes of a thread's name that are kept; of longer ones a hash is
)

// maxJTLElapsed is maxDurationNS in ms.
const maxJTLElapsed = int64(maxDurationNS / 1e6)

// jtlFold adds up a file, sample by sample.
type jtlFold struct {
	d       *Document
	clock   jtlClock
	labels  map[string]int32
	names   []string // of the labels
	threads map[string]int32
	groups  map[jtlKey]*jtlGroup
	order   []*jtlGroup // as the file begins them

	values, asked int // different elapsed times, and threads, of all groups
}

// jtlKey is what one finding is made of: a label and an hour of UTC.
type jtlKey struct {
	label int32
	hour  int64
}

// jtlNoHour is the hour of samples of which the time is not known.
const jtlNoHour = math.MinInt64

// jtlGroup is the samples of a label and an hour. Times are milliseconds.
type jtlGroup struct {
	key jtlKey

	sent, received int64
	inside         int64 // samples inside them
	lost           map[wire.Failure]int
	words          map[wire.Failure]string // of the first that failed so
	fresh          wire.Failure            // of which the words are the last sample's
	judged         bool                    // the file says of all whether they were good

	elapsed           map[uint32]uint32
	least, most       uint32
	leastAt, mostAt   int   // lines
	summed, summedFor int64 // rows that stand for several requests: how many of these, and their time

	timed, untimed      bool  // some have a time, some have none
	first, last         int64 // the first start and the last end
	answered            int64 // the last end of a request that was answered
	firstText           string
	begin, end, firstAt int // lines

	bytes, sentBytes           int64
	bytesUntold                bool
	users                      map[int32]struct{}
	usersUntold                bool
	active                     int64
	address, host              string
	severalAddresses, fromMany bool
}

func newJTLFold(d *Document) *jtlFold {
	return &jtlFold{d: d, labels: map[string]int32{}, threads: map[string]int32{}, groups: map[jtlKey]*jtlGroup{}}
}

// add counts a sample, and gives its group. One that cannot be read is left out; an error is a limit
// of the whole file.
func (j *jtlFold) add(s *jtlSample) (*jtlGroup, error) {
	f, fault := s.figures(&j.clock)
	if fault != nil {
		j.d.leave(*fault)
		return nil, nil
	}
	g, err := j.group(s, &f)
	if err != nil {
		return nil, err
	}
	if g.sent+f.samples > math.MaxInt32 {
		j.d.leave(*s.fault("more than %d samples of one label in one hour", math.MaxInt32))
		return g, nil
	}
	g.count(s, &f)
	if f.samples > 1 {
		g.summed, g.summedFor = g.summed+f.samples, g.summedFor+f.elapsed
	} else if f.errors == 0 {
		if g.roundTrip(uint32(f.elapsed), s.line) {
			j.values++
		}
		if j.values > maxJTLValues {
			return nil, s.fault("more than %d different elapsed times: split the file", maxJTLValues)
		}
	}
	g.when(s, &f)
	j.who(g, s, &f)
	return g, nil
}

// jtlFigures are a sample's numbers.
type jtlFigures struct {
	elapsed, idle            int64
	at                       int64 // jtlNoTime where it is not told
	zone                     bool
	samples, errors          int64
	told                     bool
	failure                  wire.Failure
	bytes, sentBytes, active int64
}

func (s *jtlSample) figures(clock *jtlClock) (f jtlFigures, fault *Fault) {
	if s.field[jtlElapsed] == nil {
		return f, s.fault("a sample without its elapsed time")
	}
	read := func(c jtlColumn, what string, absent, most int64) (n int64) {
		if fault == nil {
			n, fault = s.number(c, what, absent, most)
		}
		return n
	}
	f.elapsed = read(jtlElapsed, "elapsed time", 0, maxJTLElapsed)
	f.idle = read(jtlIdle, "idle time", 0, maxJTLElapsed)
	f.samples = read(jtlSamples, "number of samples", 1, math.MaxInt32)
	f.errors = read(jtlErrors, "number of errors", 0, math.MaxInt32)
	f.bytes = read(jtlBytes, "size", -1, int64(maxBytes))
	f.sentBytes = read(jtlSentBytes, "size sent", -1, int64(maxBytes))
	f.active = read(jtlActive, "number of threads", 0, math.MaxInt32)
	if fault != nil {
		return f, fault
	}
	good, told, fault := s.verdict()
	if fault != nil {
		return f, fault
	}
	f.told = told
	switch {
	case f.samples < 1 || f.errors > f.samples:
		return f, s.fault("%d errors of %d samples", f.errors, f.samples)
	case f.samples == 1: // ErrorCount says the same, where it is right
		f.errors = 0
		if !good {
			f.errors = 1
		}
	}
	if f.errors > 0 {
		f.failure = s.failure()
	}
	f.at = jtlNoTime
	if b := s.field[jtlTime]; len(b) > 0 {
		if f.at, f.zone = clock.read(b); f.at == jtlNoTime && f.zone {
			return f, s.fault("time stamp %.40q is not to be believed", b)
		} else if f.at == jtlNoTime && !isTimeOfDay(b) {
			return f, s.fault("time stamp %.40q is no time", b)
		}
	}
	return f, nil
}

// isTimeOfDay knows the stamps without a date, which some configure. They tell nothing: they begin
// anew at midnight.
func isTimeOfDay(b []byte) bool {
	_, err := time.Parse("15:04:05", string(b[:min(len(b), 20)]))
	return err == nil
}

func (j *jtlFold) group(s *jtlSample, f *jtlFigures) (*jtlGroup, error) {
	label, ok := j.labels[string(s.field[jtlLabel])]
	if !ok {
		name := jtlName(s.field[jtlLabel])
		if label, ok = j.labels[name]; !ok {
			label = int32(len(j.names))
			j.names = append(j.names, name)
			j.labels[name] = label
		}
	}
	key := jtlKey{label, jtlNoHour}
	if f.at != jtlNoTime && f.zone {
		key.hour = f.at / time.Hour.Milliseconds()
	}
	g := j.groups[key]
	if g == nil {
		if len(j.order) >= MaxFindings {
			return nil, s.fault("more than %d labels and hours in one file: split it, or give fewer labels", MaxFindings)
		}
		g = &jtlGroup{key: key, judged: true, elapsed: map[uint32]uint32{}, begin: s.line}
		j.groups[key] = g
		j.order = append(j.order, g)
	}
	return g, nil
}

// jtlName is a label as text, cut where it is too long to keep, and then told apart by a hash.
func jtlName(b []byte) string {
	if len(b) <= maxJTLName {
		return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
	}
	h := fnv.New64a()
	_, _ = h.Write(b)
	cut := maxJTLName
	for cut > 0 && !utf8.RuneStart(b[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… %016x", bytes.ToValidUTF8(b[:cut], []byte("\uFFFD")), h.Sum64())
}

func (g *jtlGroup) count(s *jtlSample, f *jtlFigures) {
	g.end, g.fresh = s.line, ""
	g.sent += f.samples
	g.received += f.samples - f.errors
	g.judged = g.judged && f.told
	if f.errors > 0 {
		if g.lost == nil {
			g.lost, g.words = map[wire.Failure]int{}, map[wire.Failure]string{}
		}
		if g.lost[f.failure] == 0 {
			g.words[f.failure], g.fresh = s.words(), f.failure
		}
		g.lost[f.failure] += int(f.errors)
	}
	if f.bytes < 0 || f.sentBytes < 0 || g.bytes+g.sentBytes > int64(maxBytes) {
		g.bytesUntold = true
	} else if f.failure == "" || !s.excepted() { // otherwise the size is that of a stack trace
		g.bytes, g.sentBytes = g.bytes+f.bytes, g.sentBytes+f.sentBytes
	}
}

// because adds what an assertion says to the words of the last sample, if they are kept.
func (g *jtlGroup) because(reason []byte) {
	if g.fresh != "" {
		g.words[g.fresh] = detailOf(g.words[g.fresh], reason)
		g.fresh = ""
	}
}

// roundTrip counts the time of a request that was answered, and says whether it is a new one.
func (g *jtlGroup) roundTrip(ms uint32, line int) bool {
	if len(g.elapsed) == 0 || ms < g.least {
		g.least, g.leastAt = ms, line
	}
	if len(g.elapsed) == 0 || ms > g.most {
		g.most, g.mostAt = ms, line
	}
	n := g.elapsed[ms]
	g.elapsed[ms] = n + 1
	return n == 0
}

func (g *jtlGroup) when(s *jtlSample, f *jtlFigures) {
	if f.at == jtlNoTime {
		g.untimed = true
		return
	}
	if !g.timed || f.at < g.first {
		g.first, g.firstAt = f.at, s.line
		g.firstText = string(s.field[jtlTime])
	}
	ends := f.at + f.elapsed + f.idle
	if !g.timed || ends > g.last {
		g.last = ends
	}
	if f.errors < f.samples {
		g.answered = max(g.answered, ends)
	}
	g.timed = true
}

// who counts the threads that asked, and keeps the two ends where there is one of each.
func (j *jtlFold) who(g *jtlGroup, s *jtlSample, f *jtlFigures) {
	g.active = max(g.active, f.active)
	if host := s.field[jtlHost]; len(host) > 0 && !g.fromMany {
		g.host, g.fromMany = oneOf(g.host, host)
	}
	if address := s.field[jtlURL]; len(address) > 0 {
		g.to(address)
	}
	name := s.field[jtlThread]
	if name == nil || g.usersUntold {
		g.usersUntold = true
		return
	}
	if len(name) > maxJTLName {
		g.usersUntold, g.users = true, nil
		return
	}
	if len(name) > maxJTLThread {
		h := fnv.New128a()
		_, _ = h.Write(name)
		name = h.Sum(nil)
	}
	id, ok := j.threads[string(name)]
	if !ok {
		if len(j.threads) >= maxJTLThreads {
			g.usersUntold, g.users = true, nil
			return
		}
		id = int32(len(j.threads))
		j.threads[string(name)] = id
	}
	if _, ok := g.users[id]; ok {
		return
	}
	if j.asked++; j.asked > maxJTLThreads {
		g.usersUntold, g.users = true, nil
		return
	}
	if g.users == nil {
		g.users = map[int32]struct{}{}
	}
	g.users[id] = struct{}{}
}

// oneOf is the one name that there is so far, or the news that there are several.
func oneOf(have string, b []byte) (string, bool) {
	if have == string(b) {
		return have, false
	}
	if have != "" || len(b) > 255 {
		return "", true
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), false
}

// to keeps the host of a URL that was asked for, if it is always the same.
func (g *jtlGroup) to(address []byte) {
	i := bytes.Index(address, []byte("://"))
	if i < 0 || g.severalAddresses {
		return
	}
	host := address[i+3:]
	if i := bytes.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	if i := bytes.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	if i := bytes.LastIndexByte(host, ':'); i >= 0 && !bytes.HasSuffix(host, []byte("]")) {
		host = host[:i]
	}
	host = bytes.Trim(host, "[]")
	if len(host) > 0 {
		g.address, g.severalAddresses = oneOf(g.address, host)
	}
}
