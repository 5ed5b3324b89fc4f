package foreign

import (
	"fmt"
	"strings"

	"isochrone/prober/wire"
)

// iperf3Mark begins an --extra-data that carries our names:
//
//	iperf3 -c HOST -J --extra-data isochrone:source=SOURCE,target=TARGET,path=PATH,probe=PROBE
//
// each of the four may be missing. Other extra data are left alone.
const iperf3Mark = "isochrone:"

// iperf3Named are names that a document carries; those that it does not are empty.
type iperf3Named struct{ source, target, path, probe string }

// iperf3Names takes our names from the first of the texts that carries them.
func iperf3Names(texts ...string) (named iperf3Named, fault *Fault) {
	for _, text := range texts {
		list, ok := strings.CutPrefix(strings.TrimSpace(text), iperf3Mark)
		if !ok {
			continue
		}
		var n iperf3Named
		at := map[string]*string{"source": &n.source, "target": &n.target, "path": &n.path, "probe": &n.probe}
		for part := range strings.SplitSeq(list, ",") {
			what, name, _ := strings.Cut(part, "=")
			what, name = strings.TrimSpace(what), strings.TrimSpace(name)
			if at[what] == nil {
				return named, &Fault{Offset: NoOffset, Where: "extra_data", Reason: fmt.Sprintf("%.40q is none of source=, target=, path= and probe=", part)}
			}
			if err := wire.ValidateName(what, name); err != nil {
				return named, &Fault{Offset: NoOffset, Where: "extra_data", Reason: cut(err.Error())}
			}
			*at[what] = name
		}
		return n, nil
	}
	return named, nil
}
