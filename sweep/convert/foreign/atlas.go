package foreign

import (
	"errors"
	"fmt"
	"io"
	"time"

	"isochrone/prober/wire"
	"isochrone/sweep/convert/jsontext"
)

// atlas is what RIPE Atlas' probes send: pings, and traceroutes that came to their target. Times are
// milliseconds, times of day whole seconds. Names of members changed with the firmware of the probes,
// and one file may hold several.
//
// Source: atlas.ripe.net/docs/apis/measurement-result-format.
var atlas = &Format{Name: "atlas", Title: "RIPE Atlas results of ping and traceroute: an array, or one a line", Streams: true,
	recognise: func(h *Head) bool {
		o := h.object()
		return o.Has("fw", "msm_id", "prb_id", "timestamp") && (o.Has("type") || o.Has("result") || o.Has("sent") || o.Has("dnserr"))
	},
	read: readAtlas,
}

func readAtlas(in io.Reader, d *Document) error {
	objects, room := newJSONObjects(in), newSampleRoom()
	for n := 0; ; n++ {
		text, err := objects.next()
		if err == io.EOF {
			return nil
		}
		if f, ok := errors.AsType[*Fault](err); ok {
			d.leave(*f)
			n--
			continue
		}
		if err != nil {
			return err
		}
		r := atlasResult{prefix: fmt.Sprintf("[%d].", n), samples: sampleList{room: room}}
		f, err := r.finding(text)
		if err != nil {
			left := objects.fault(err.Error())
			left.Where = fmt.Sprintf("[%d]", n)
			if inner, ok := errors.AsType[*Fault](err); ok {
				left.Where, left.Reason = inner.Where, inner.Reason
			}
			if d.leave(*left); d.lost(10*MaxFindings, *left) {
				return nil
			}
			continue
		}
		if err := d.add(*f); err != nil {
			return err
		}
	}
}

// atlasResult is one result as it is read.
type atlasResult struct {
	prefix  string // of places
	v       jsontext.Value
	f       Finding
	samples sampleList
}

func (r *atlasResult) finding(text []byte) (*Finding, error) {
	t, fault := jsontext.Parse(text, jsontext.Options{})
	if fault != nil {
		return nil, errors.New(fault.Text)
	}
	r.v = t.Root()
	if err := r.ends(); err != nil {
		return nil, err
	}
	var err error
	switch kind := r.kind(); kind {
	case "ping":
		err = r.ping()
	case "traceroute":
		err = r.traceroute()
	case "":
		err = errors.New("this is no result of a measurement")
	default:
		err = fmt.Errorf("a result of type %.20q holds no round trip of the network", kind)
	}
	return &r.f, err
}

// kind is the type; the firmware before 4460 does not name it.
func (r *atlasResult) kind() string {
	switch {
	case r.v.Get("type").Text() != "":
		return r.v.Get("type").Text()
	case r.v.Has("sent", "rcvd"):
		return "ping"
	case r.v.Get("result").At(0).Has("hop"):
		return "traceroute"
	}
	return ""
}

// text is the first member of some names that is there: the newest name first.
func (r *atlasResult) text(names ...string) string {
	for _, name := range names {
		if s := r.v.Get(name).Text(); s != "" && s != "null" {
			return s
		}
	}
	return ""
}

// quantity is a member, or nothing where it is −1: what Atlas writes where nothing came.
func (r *atlasResult) quantity(name, unit string) Quantity {
	q := quantityOf(r.v.Get(name), unit, r.prefix+name)
	if v, _, missing, err := q.number(); err == nil && !missing && v == -1 {
		return Quantity{}
	}
	return q
}

// ends fills in who measured what, and when. A probe is its number: addresses change.
func (r *atlasResult) ends() error {
	f := &r.f
	f.Tool = "RIPE Atlas"
	if fw := r.text("fw"); fw != "" {
		f.Tool += " firmware " + cut40(fw)
	}
	f.From = r.text("prb_id", "from", "src_addr", "srcaddr")
	f.To = r.text("dst_name", "name", "dst_addr", "addr")
	f.Run.Address = r.text("dst_addr", "addr")
	f.Variant = cut40(r.text("msm_id"))
	seconds, ok := int64Of(r.v.Get("timestamp"))
	if !ok || seconds < epoch.Unix() || seconds >= horizon.Unix() {
		return &Fault{Offset: NoOffset, Where: r.prefix + "timestamp", Reason: fmt.Sprintf("%.40q is no time in seconds", r.v.Get("timestamp").Text())}
	}
	f.began(time.Unix(seconds, 0), Quantity{Text: r.v.Get("timestamp").Text(), Unit: "s", Where: r.prefix + "timestamp"})
	end, ok := int64Of(r.v.Get("endtime"))
	if ok && end >= seconds && end < horizon.Unix() {
		at := time.Unix(end, 0).UTC()
		f.Run.End = &at
		f.explain("end", Quantity{Text: r.v.Get("endtime").Text(), Unit: "s", Where: r.prefix + "endtime"})
	}
	return nil
}

// fail notes why nothing came back.
func (r *atlasResult) fail(failure wire.Failure, detail, where string) {
	r.f.Run.Failure, r.f.Run.Detail = failure, detail
	r.f.explain("failure", Quantity{Text: detail, Where: r.prefix + where})
}
