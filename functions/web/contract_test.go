package web_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"testing"

	"isochrone/sweep/reply"
)

// The fake server says what Query says: every key of its answers is one of the real ones, with a value
// of the same kind.
func TestTheFixturesAreWhatQuerySends(t *testing.T) {
	q := newQuery(t)
	asked := url.Values{"source": {"westeurope"}, "target": {"eastus"}, "path": {"public"}, "probe": {"tcp-64"}, "since": {"28d"}, "zone": {"utc"}}
	short := url.Values{"since": {"24h"}}
	for question, c := range map[string]struct {
		asked url.Values
		into  any
	}{
		"overview": {nil, &reply.Overview{}}, "matrix": {asked, &reply.MatrixAnswer{}}, "trend": {asked, &reply.Trend{}}, "heatmap": {asked, &reply.Heatmap{}}, "distribution": {asked, &reply.Distribution{}},
		"compare": {asked, &reply.Compare{}}, "recovery": {asked, &reply.Recovery{}}, "coverage": {short, &reply.Coverage{}}, "probers": {nil, &reply.Probers{}}, "changes": {short, &reply.Changes{}}, "alerts": {nil, &reply.Alerts{}},
	} {
		body, ok := q.answers[question](c.asked).body.([]byte)
		if !ok {
			var err error
			if body, err = json.Marshal(q.answers[question](c.asked).body); err != nil {
				t.Fatal(err)
			}
		}
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		if err := d.Decode(c.into); err != nil {
			t.Errorf("%s: %v", question, err)
		}
	}
}
