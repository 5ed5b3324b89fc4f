package archive

import (
	"encoding/json"
	"fmt"

	"github.com/parquet-go/parquet-go"
)

// lakeColumns says of each column of the lake what it is, in the order of LakeSample.
var lakeColumns = [...]struct{ name, unit, about string }{
	{"target", "", "prober or endpoint that was measured"},
	{"path", "", "how the packets get there: public, peering, vpn, expressroute, relay"},
	{"time", "UTC", "when the sample was due; the day of the file is that of its slot, so the last run's may be of the next day"},
	{"slot", "UTC", "the scheduled instant that the run served"},
	{"seq", "", "number of the sample in its run, from 0"},
	{"due_ns", "ns", "when it was due, since the run's start"},
	{"sent_ns", "ns", "when it was sent, since the run's start; null: it was not"},
	{"rtt_ns", "ns", "round trip; null: no reply in time. That of tcp and http includes server_ns, that of udp does not"},
	{"server_ns", "ns", "how long the target held the request"},
	{"forward_ns", "ns", "from source to target as measured: it holds the offset of the clocks"},
	{"reverse_ns", "ns", "from target to source as measured: it holds the offset of the clocks"},
	{"client_ns", "ns", "what the source's program saw beyond the kernel's round trip"},
	{"dns_ns", "ns", "http: look-up of the name"},
	{"connect_ns", "ns", "http: the connection"},
	{"tls_ns", "ns", "http: the TLS handshake"},
	{"first_byte_ns", "ns", "http: from the request to the first byte of the answer"},
	{"failure", "", "why there is no round trip, from a closed list; null exactly where rtt_ns is not"},
}

type schemaObject struct {
	Version    int            `json:"version"`
	Files      string         `json:"files"`
	Partitions []schemaColumn `json:"partitions"`
	Columns    []schemaColumn `json:"columns"`
	SortedBy   []string       `json:"sorted_by"`
}

type schemaColumn struct {
	Name     string  `json:"name"`
	Type     string  `json:"type"`
	Nullable bool    `json:"nullable"`
	Unit     *string `json:"unit"`
	About    string  `json:"description"`
}

// LakeSchema is what SchemaBlob holds: the columns of the lake with types, units and what they are.
func LakeSchema() ([]byte, error) {
	o := schemaObject{Version: LakeVersion, Files: samplesFolder + "src=*/date=*/probe=*/" + lakeFile, SortedBy: []string{"target", "path", "time"},
		Partitions: []schemaColumn{
			{Name: "src", Type: "STRING", About: "prober that measured"},
			{Name: "date", Type: "DATE", About: "day of the slot, UTC"},
			{Name: "probe", Type: "STRING", About: "name of the probe"},
		}}
	for i, field := range parquet.SchemaOf(LakeSample{}).Fields() {
		c := lakeColumns[i]
		if c.name != field.Name() {
			return nil, fmt.Errorf("describing the lake: column %d is %q: want %q", i, c.name, field.Name())
		}
		column := schemaColumn{Name: c.name, Type: field.Type().String(), Nullable: field.Optional(), About: c.about}
		if c.unit != "" {
			column.Unit = &c.unit
		}
		o.Columns = append(o.Columns, column)
	}
	body, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("describing the lake: %w", err)
	}
	return append(body, '\n'), nil
}
