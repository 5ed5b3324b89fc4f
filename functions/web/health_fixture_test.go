package web_test

import (
	"net/url"
	"time"
)

func coverage(v url.Values) object {
	n := map[string]int{"24h": 24, "3d": 72, "7d": 168, "28d": 28 * 24}[v.Get("since")]
	until := now.Truncate(time.Hour)
	var probers []object
	for p, id := range []string{"australiaeast", "brazilsouth", "eastus", "japaneast", "northeurope", "southafricanorth", "southeastasia", "uksouth", "westeurope", "westus2"} {
		var hours []object
		planned, received, expired := 0, 0, 0
		for i := range n {
			if p == 9 && i < n/4 { // it was added later
				continue
			}
			h := object{"t": until.Add(time.Duration(i-n) * time.Hour), "planned": 120, "received": 120, "measured": 120, "failed": 0, "expired": 0, "missed": 0, "open": 0, "lost": 0, "unplanned": 0}
			if p == 5 && i >= n/2 && i < n/2+3 {
				h["received"], h["expired"] = 20, 100
			}
			if p == 1 && i == n-1 {
				h["received"], h["expired"] = 119, 1
			}
			if p == 0 && i == n-1 { // they are under way
				h["received"], h["open"] = 100, 20
			}
			if p == 2 && i == n-1 {
				h["received"], h["open"] = 0, 120
			}
			planned, received, expired = planned+120, received+h["received"].(int), expired+h["expired"].(int)
			hours = append(hours, h)
		}
		probers = append(probers, object{"prober": id, "hours": hours, "planned": planned, "received": received, "measured": received, "failed": 0, "expired": expired, "missed": 0, "open": 0, "lost": 0, "unplanned": 0})
	}
	return with(headOf(nil, 28_800, nil), object{"since": until.Add(-time.Duration(n) * time.Hour), "until": until, "notes": []string{}, "probers": probers, "next": nil})
}

func probers(url.Values) object {
	of := func(id, state string, age any, finding any) object {
		return object{"id": id, "region": id, "state": state, "heartbeat": now, "heartbeat_age_s": age, "version": "0.4.0", "vm_size": "Standard_D4s_v5", "clock_error_ms": 0.42, "paths": []string{"public", "peering"}, "finding": finding}
	}
	lost := of("southafricanorth", "silent", 7_200, "It has been silent for 2 h: look whether its container runs, and whether it reaches the storage account.")
	never := object{"id": "brazilsouth", "region": "brazilsouth", "state": "never registered", "heartbeat": nil, "heartbeat_age_s": nil, "version": nil, "vm_size": nil, "clock_error_ms": nil, "paths": []string{}, "finding": "It never registered: start it, and give its identity the role that docs/operations.md names."}
	return with(headOf(nil, nil, nil), object{"probers": []object{of("australiaeast", "fresh", 11, nil), never, of("eastus", "fresh", 4, nil), lost, of("westeurope", "fresh", 27, nil)}})
}

// changes come in two pages.
func changes(v url.Values) object {
	of := func(source, target, kind string, days int) object {
		return object{"source": source, "target": target, "path": "public", "probe": "tcp-64", "t": now.Truncate(time.Hour).AddDate(0, 0, -days), "before_us": 81_100, "after_us": 84_200, "p": 3e-9, "kind": kind, "simulated": false}
	}
	list, next := []object{of("westeurope", "eastus", "rerouted", 3), of("eastus", "japaneast", "congestion", 9)}, any("page-2")
	if v.Get("next") == "page-2" {
		list, next = []object{of("uksouth", "westus2", "step", 20)}, nil
	}
	return with(headOf(nil, nil, 58_000), object{"since": now.AddDate(0, 0, -28), "until": now, "series": 100, "series_too_short": 2, "changes": list, "next": next})
}

func alerts(url.Values) object {
	return with(headOf(nil, nil, nil), object{"since": now.AddDate(0, 0, -7), "until": now, "open": 1, "next": nil, "alerts": []object{
		{"kind": "deviation", "series": "westeurope|eastus|public|tcp-64", "source": "westeurope", "target": "eastus", "path": "public", "probe": "tcp-64", "since": now.Add(-32 * time.Hour), "raised_at": now.Add(-30 * time.Hour),
			"ended_at": now.Add(-26 * time.Hour), "message": "p50 was 9.1 ms where 4.2 ms are usual at this hour of the week", "end_message": "three hours running were as usual", "simulated": false},
		{"kind": "coverage", "series": "southafricanorth", "source": nil, "target": nil, "path": nil, "probe": nil, "since": now.Add(-3 * time.Hour), "raised_at": now.Add(-2 * time.Hour), "ended_at": nil,
			"message": "17 % of the planned runs came in", "end_message": nil, "simulated": false},
	}})
}
