package wire

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Kind is what a probe measures.
type Kind string

// The kinds that this version can measure.
const (
	// KindConnect measures TCP handshakes, a new connection each.
	KindConnect Kind = "connect"
	// KindTCP measures request and response over one warm connection.
	KindTCP Kind = "tcp"
	// KindUDP measures with STAMP (RFC 8762): the round trip without the target's dwell, and both
	// directions apart.
	KindUDP Kind = "udp"
	// KindICMP measures echo request and reply (RFC 792, RFC 4443).
	KindICMP Kind = "icmp"
	// KindHTTP measures whole requests, with their phases apart.
	KindHTTP Kind = "http"
	// KindThroughput measures bits/s over one or more TCP connections.
	KindThroughput Kind = "throughput"
	// KindLoad lets users ask one request after the other, many at a time.
	KindLoad Kind = "load"
	// KindSaturate raises the number of requests under way until response times suffer.
	KindSaturate Kind = "saturate"
	// KindStream sends messages at a rate, whether or not the target keeps up.
	KindStream Kind = "stream"
)

// Kinds lists the kinds that this version can measure.
func Kinds() []Kind { return append(LatencyKinds(), BulkKinds()...) }

// LatencyKinds lists the kinds that send a sample at a time, and so little that any number of them may
// run beside each other.
func LatencyKinds() []Kind { return []Kind{KindConnect, KindTCP, KindUDP, KindICMP, KindHTTP} }

// BulkKinds lists the kinds that load the network: what else were measured meanwhile at one of the
// two ends would be of the load.
func BulkKinds() []Kind { return []Kind{KindThroughput, KindLoad, KindSaturate, KindStream} }

// IsBulk says whether the kind loads the network.
func (k Kind) IsBulk() bool { return slices.Contains(BulkKinds(), k) }

// Authenticated says whether a run opens a session at the target's reflector. The others carry no
// payload that a reflector would have to answer for. Load does unless it asks for a URL.
func (s Spec) Authenticated() bool {
	return s.Kind == KindTCP || s.Kind == KindUDP || s.Kind.IsBulk() && !s.AsksURL()
}

// NeedsProber says whether only a prober can be the target: its reflector is the other end.
// The others measure any host that answers.
func (s Spec) NeedsProber() bool { return s.Authenticated() }

// AsksURL says whether a run asks for a URL, which only an endpoint has.
func (s Spec) AsksURL() bool { return s.Kind == KindHTTP || s.Kind == KindLoad && s.Method != "" }

// The smallest and largest messages. A udp or icmp packet is never to be fragmented on a path of
// the usual 1,500 bytes: the loss of a fragment would be another thing than the loss of a packet.
const (
	// MinMessageBytes is the smallest request or response of the tcp kind: it has to hold the
	// frame's header.
	MinMessageBytes = 16
	// MinDatagramBytes is the smallest UDP payload of the udp kind: a STAMP packet in
	// authenticated mode (RFC 8762, section 4.2.2).
	MinDatagramBytes = 112
	// DefaultDatagramBytes is the UDP payload of the udp kind where nothing is said: the smallest
	// packet that tells when the reply before left the target (RFC 8972, section 4.7), so that what
	// the target's program needs to send a reply is no part of the round trip.
	DefaultDatagramBytes = 152
	// MaxDatagramBytes is the largest UDP payload of the udp kind, and the largest echo payload
	// of the icmp kind: 1,500 less the headers of IPv6 (40) and UDP or ICMP (8).
	MaxDatagramBytes = 1452
	// MinEchoBytes is the smallest payload of an echo request: it has to hold the run's mark.
	MinEchoBytes = 16
)

// What a request of the http kind does with its connection.
const (
	ConnectionFresh     = "fresh"      // a new one for every request: all phases are measured
	ConnectionKeepAlive = "keep-alive" // one for the whole run, which the warm-up opens
)

// Spec is how a probe measures. Durations are nanoseconds in JSON.
type Spec struct {
	Kind   Kind `json:"kind"`
	Count  int  `json:"count"`  // samples, warm-up left out
	Warmup int  `json:"warmup"` // samples sent first and discarded
	// Interval is from one due time to the next. Zero is a closed loop: each sample leaves when
	// the one before was answered or is lost. A closed loop cannot see how long a stall of the
	// target was (coordinated omission), so no sweep uses it; a person at a terminal may.
	Interval time.Duration `json:"interval_ns"`
	Timeout  time.Duration `json:"timeout_ns"` // after which a sample is lost
	// RequestBytes and ResponseBytes are the sizes of the tcp kind's messages, from
	// MinMessageBytes; a response is never larger than the request. For udp and icmp
	// RequestBytes is the payload of the packet, and the reply has the same size. Zero for
	// other kinds.
	RequestBytes  int `json:"request_bytes,omitempty"`
	ResponseBytes int `json:"response_bytes,omitempty"`
	// Method and Connection belong to the http kind: GET or HEAD; fresh or keep-alive.
	Method     string `json:"method,omitempty"`
	Connection string `json:"connection,omitempty"`
	// Bulk belongs to the kinds that load the network. Their Count, Warmup and Interval are 0.
	Bulk Bulk `json:"bulk,omitzero"`
}

// ClosedLoop says whether a sample waits for the one before.
func (s Spec) ClosedLoop() bool { return s.Interval == 0 && !s.Kind.IsBulk() }

// Validate reports every fault of the spec. Each begins with the word that names the field in
// sweep.yaml.
func (s Spec) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if !slices.Contains(Kinds(), s.Kind) {
		fault("kind %q: want one of %q", s.Kind, Kinds())
	}
	if s.Kind.IsBulk() {
		return errors.Join(append(append(faults, each(s.validateBulk())...), s.validateHTTP()...)...)
	}
	if s.Bulk != (Bulk{}) {
		fault("bulk: kind %q has no such options", s.Kind)
	}
	if s.Count < 1 || s.Count > MaxSamples {
		fault("count %d: want 1 to %d", s.Count, MaxSamples)
	}
	if s.Warmup < 0 || s.Warmup > 10_000 {
		fault("warmup %d: want 0 to 10000", s.Warmup)
	}
	if s.Interval != 0 && (s.Interval < time.Millisecond || s.Interval > time.Minute) {
		fault("interval %s: want 1ms to 1m", s.Interval)
	}
	if s.Timeout < time.Millisecond || s.Timeout > MaxTimeout {
		fault("timeout %s: want 1ms to %s", s.Timeout, MaxTimeout)
	}
	return errors.Join(append(append(faults, s.validateSizes()...), s.validateHTTP()...)...)
}

func (s Spec) validateSizes() (faults []error) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	least, most := 0, 0
	switch s.Kind {
	case KindTCP:
		least, most = MinMessageBytes, MaxMessageBytes
	case KindUDP:
		least, most = MinDatagramBytes, MaxDatagramBytes
	case KindICMP:
		least, most = MinEchoBytes, MaxDatagramBytes
	default:
		if s.RequestBytes != 0 || s.ResponseBytes != 0 {
			fault("kind %q has no message sizes", s.Kind)
		}
		return faults
	}
	if s.RequestBytes < least || s.RequestBytes > most {
		fault("request of %d bytes: want %d to %d", s.RequestBytes, least, most)
	}
	switch {
	case s.Kind == KindTCP && (s.ResponseBytes < MinMessageBytes || s.ResponseBytes > s.RequestBytes):
		fault("response of %d bytes: want %d to the request's %d", s.ResponseBytes, MinMessageBytes, s.RequestBytes)
	case s.Kind != KindTCP && s.ResponseBytes != 0:
		fault("response of %d bytes: a reply of kind %q has the request's size", s.ResponseBytes, s.Kind)
	}
	return faults
}

func (s Spec) validateHTTP() (faults []error) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if s.Kind != KindHTTP && (s.Kind != KindLoad || s.Method == "") {
		if s.Method != "" {
			fault("method %q: kind %q has none", cutForError([]byte(s.Method)), s.Kind)
		}
		if s.Connection != "" {
			fault("connection %q: kind %q has none", cutForError([]byte(s.Connection)), s.Kind)
		}
		return faults
	}
	if s.Method != "GET" && s.Method != "HEAD" {
		fault("method %q: want GET or HEAD", cutForError([]byte(s.Method)))
	}
	if s.Connection != ConnectionFresh && s.Connection != ConnectionKeepAlive {
		fault("connection %q: want %s or %s", cutForError([]byte(s.Connection)), ConnectionFresh, ConnectionKeepAlive)
	}
	return faults
}

// Span is how long a run of this spec takes at most, from its first due time to the end of its
// last sample's timeout.
func (s Spec) Span() time.Duration {
	if s.Kind.IsBulk() {
		return s.bulkSpan()
	}
	if s.ClosedLoop() {
		return time.Duration(s.Count+s.Warmup) * s.Timeout
	}
	return time.Duration(s.Count+s.Warmup)*s.Interval + s.Timeout
}

// Current is what one prober is to do: the runs it makes as source, and the sessions it admits
// as target. It depends on nothing but the plans that have not expired, so writing it again
// gives the same bytes.
type Current struct {
	Version     int          `json:"version"`
	Environment string       `json:"environment"`
	Prober      string       `json:"prober"`
	Assignments []Assignment `json:"assignments"`
	Sessions    []Session    `json:"sessions"`
}

// Assignment is the runs of one probe that one source makes at one slot.
type Assignment struct {
	ID    string    `json:"id"`
	Slot  time.Time `json:"slot"`
	Probe string    `json:"probe"`
	Part  int       `json:"part"`
	Spec  Spec      `json:"spec"`
	// Start is when the first run begins; a prober that started after it leaves the whole
	// assignment alone. LatestStart is how late it may still begin.
	Start       time.Time `json:"start"`
	LatestStart time.Time `json:"latest_start"`
	// Deadline ends everything: samples not sent by then are canceled.
	Deadline time.Time     `json:"deadline"`
	Runs     []AssignedRun `json:"runs"`
}

// AssignedRun is one run of an assignment.
type AssignedRun struct {
	Target string `json:"target"`
	Path   string `json:"path"`
	// Failure, when it is set, is the run's result: the app knows that the target is down, and
	// nothing is sent.
	Failure Failure `json:"failure,omitempty"`
	// Detail says why, for people: at most MaxDetailBytes, and only with a Failure.
	Detail string `json:"detail,omitempty"`
	// Address is the target's numeric host:port; for icmp its numeric host alone; for http empty,
	// as the source resolves the URL's host and measures that too.
	Address string `json:"address,omitempty"`
	// URL is what an http run asks for.
	URL string `json:"url,omitempty"`
	// Loopback lets an http run connect to its source's own loopback addresses, when the URL's
	// host is or resolves to one.
	Loopback bool      `json:"loopback,omitempty"`
	Session  SessionID `json:"session,omitzero"`
	Key      Key       `json:"key,omitzero"`
}

// Session is what a target admits: one authenticated connection of the named kind (for udp: one
// sender's address and port), between NotBefore and Deadline.
type Session struct {
	ID            SessionID `json:"id"`
	Key           Key       `json:"key"`
	Source        string    `json:"source"`
	Path          string    `json:"path"`
	Probe         string    `json:"probe"`
	Kind          Kind      `json:"kind"`
	RequestBytes  int       `json:"request_bytes,omitempty"`
	ResponseBytes int       `json:"response_bytes,omitempty"`
	// MaxRequests caps the requests that are answered; 0 for bulk kinds.
	MaxRequests int `json:"max_requests"`
	// Spec is what a session of a bulk kind is for, its byte budget included; zero for others.
	Spec      Spec      `json:"spec,omitzero"`
	NotBefore time.Time `json:"not_before"`
	Deadline  time.Time `json:"deadline"`
}

// Registration is what a prober says of itself, at start and as a heartbeat.
type Registration struct {
	Version     int       `json:"version"`
	Environment string    `json:"environment"`
	Prober      string    `json:"prober"`
	Region      string    `json:"region"`
	Started     time.Time `json:"started"`
	Heartbeat   time.Time `json:"heartbeat"`
	// Stopped says that the process that wrote this has ended in good order: another may take
	// its place at once. The app need not know: the heartbeat grows old either way.
	Stopped bool `json:"stopped,omitempty"`
	// HeartbeatInterval is how often Heartbeat is renewed; after three without one the prober
	// is down.
	HeartbeatInterval time.Duration `json:"heartbeat_interval_ns"`
	// Addresses are where this prober's reflectors are reached, one a path.
	Addresses []PathAddress `json:"addresses"`
	// ReadsAssignments lists the assignment versions that the prober reads.
	ReadsAssignments []int      `json:"reads_assignments"`
	Provenance       Provenance `json:"provenance"`
}

// MaxAddresses is the most paths that a prober may have an address on.
const MaxAddresses = 16

// PathAddress is a prober's address on one path.
type PathAddress struct {
	Path string `json:"path"`
	// Host is what ValidateHost accepts; the app resolves names and checks the result.
	Host    string `json:"host"`
	TCPPort int    `json:"tcp_port"`
	// UDPPort is that of the STAMP reflector; 0 where there is none.
	UDPPort int `json:"udp_port,omitempty"`
}

// Validate reports every fault of a registration that claims to be that prober's.
func (r *Registration) Validate(environment, prober string) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if r.Version != RegistrationVersion {
		return fmt.Errorf("version %d: this program reads registration version %d", r.Version, RegistrationVersion)
	}
	if r.Environment != environment {
		fault("environment %q: want %q", cutForError([]byte(r.Environment)), environment)
	}
	if r.Prober != prober {
		fault("prober %q in the folder of %q", cutForError([]byte(r.Prober)), prober)
	}
	if err := ValidateName("region", r.Region); err != nil {
		faults = append(faults, err)
	}
	if !sane(r.Started) || !sane(r.Heartbeat) {
		fault("a time lies outside the years 2000 to 9999")
	}
	if r.HeartbeatInterval < time.Second || r.HeartbeatInterval > time.Hour {
		fault("heartbeat interval %s: want 1s to 1h", r.HeartbeatInterval)
	}
	if len(r.Addresses) > MaxAddresses || len(r.ReadsAssignments) > 16 {
		fault("more than %d addresses or 16 assignment versions", MaxAddresses)
	}
	for i, a := range r.Addresses {
		if err := a.Validate(); err != nil {
			fault("addresses[%d]: %w", i, err)
		}
	}
	return errors.Join(faults...)
}

// Validate returns an error unless the address can be registered.
func (a PathAddress) Validate() error {
	if err := ValidateName("path", a.Path); err != nil {
		return err
	}
	if a.TCPPort < 1 || a.TCPPort > 65535 {
		return fmt.Errorf("TCP port %d: want 1 to 65535", a.TCPPort)
	}
	if a.UDPPort < 0 || a.UDPPort > 65535 {
		return fmt.Errorf("UDP port %d: want 1 to 65535, or 0 for none", a.UDPPort)
	}
	if err := ValidateHost(a.Host); err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(a.Host); err == nil && (ip.IsUnspecified() || ip.IsMulticast() || ip.Zone() != "") {
		return fmt.Errorf("host %s cannot be a target", ip)
	}
	return nil
}

// each takes joined errors apart.
func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return nil
}
