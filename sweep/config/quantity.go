package config

import (
	"fmt"
	"maps"
	"strconv"
)

// What ParseSize and ParseRate take, for people.
const (
	WantSize = "a size such as 500GB or 2TB (decimal), or 2TiB (binary)"
	WantRate = "a rate in bytes such as 20MB/s (decimal) or 20MiB/s (binary), or in bits such as 1Gbps or 200Mbit/s"
)

// rateUnits are in bit/s. "Mb/s" is not among them: half of those who write it mean bytes.
var rateUnits = func() map[string]float64 {
	out := map[string]float64{"bps": 1, "kbps": 1e3, "Kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12, "Tbit/s": 1e12}
	maps.Copy(out, bitRateUnits.factors)
	for name, bytes := range byteUnits.factors {
		if name != "" {
			out[name+"/s"] = 8 * bytes
		}
	}
	return out
}()

// ParseSize reads a size of data, in bytes. It is more than nothing.
func ParseSize(text string) (bytes float64, err error) {
	units := maps.Clone(byteUnits.factors)
	delete(units, "")
	units["PB"], units["PiB"] = 1e15, 1<<50
	if bytes, ok := quantityOf(text, units); ok {
		return bytes, nil
	}
	return 0, fmt.Errorf("%.40q: want %s", text, WantSize)
}

// ParseRate reads a rate of data, in bit/s. It is more than nothing.
func ParseRate(text string) (bps float64, err error) {
	if bps, ok := quantityOf(text, rateUnits); ok {
		return bps, nil
	}
	return 0, fmt.Errorf("%.40q: want %s", text, WantRate)
}

func quantityOf(text string, units map[string]float64) (float64, bool) {
	m := quantityForm.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	factor, known := units[m[2]]
	return n * factor, known && err == nil && n > 0
}
