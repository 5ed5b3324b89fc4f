package main

import "time"

// prices are list prices in US dollars of a general-purpose v2 account in West Europe, standard
// performance, LRS, hot tier, first terabytes. They are to be checked before anybody relies on them:
// the prices of requests to blobs are the sample prices of Azure's own pages on estimating costs, those of
// tables as read in July 2026, the rest common list prices of 2026.
var prices = struct {
	request      [kinds]float64 // of 10,000
	tableGB      float64        // a month
	blobGB       float64        // a month
	betweenGB    float64        // that leaves a region for another
	asOf, region string
}{
	request: [kinds]float64{tableBatch: 0.00036, tableWrite: 0.00036, tableRead: 0.00036, tableDelete: 0.00036,
		blobWrite: 0.055, blobRead: 0.0044, blobList: 0.055, blobDelete: 0, blobOther: 0.0044},
	tableGB: 0.045, blobGB: 0.0196, betweenGB: 0.02,
	asOf: "July 2026", region: "West Europe, LRS, hot",
}

const gigabyte = 1 << 30

// What a month has, with a sweep every ten minutes.
const (
	month           = 30 * 24 * time.Hour
	sweepsAMonth    = float64(month / (10 * time.Minute))
	ingestsASweep   = 10 // one a minute, of which all but one find nothing to do
	hoursAMonth     = float64(month / time.Hour)
	sweepsAnHour    = 6
	pollEvery       = 5 * time.Second  // a prober's default
	heartbeatsEvery = 30 * time.Second // likewise
)

// cost is what a month costs, in US dollars. Data is priced as if what one month adds were kept for one
// month, which is what it costs in the second month and ever after for each month that is kept.
type cost struct{ appRequests, proberRequests, rows, blobs, between float64 }

func (c cost) total() float64 {
	return c.appRequests + c.proberRequests + c.rows + c.blobs + c.between
}

func (u usage) price() (usd float64) {
	for k, n := range u.count {
		usd += float64(n) / 10_000 * prices.request[k]
	}
	return usd
}

// costOf estimates a month of a size. An hour's rollup reads six sweeps, so its measured requests count six
// times, which is more than there are.
func costOf(probers int, o *round) (c cost) {
	sweep := o.plan.price() + o.dispatch.price() + o.ingest.price() + (ingestsASweep-1)*o.idle.price()
	c.appRequests = sweepsAMonth*sweep + hoursAMonth*sweepsAnHour*o.rollup.price()
	polls, heartbeats := float64(probers)*float64(month/pollEvery), float64(probers)*float64(month/heartbeatsEvery)
	c.proberRequests = sweepsAMonth*o.deliver.price() + polls/10_000*prices.request[blobRead] + heartbeats/10_000*(prices.request[blobWrite]+prices.request[blobRead])
	rows, blobs := o.stored.added()
	c.rows = sweepsAMonth * rows / gigabyte * prices.tableGB
	c.blobs = sweepsAMonth * blobs / gigabyte * prices.blobGB
	c.between = sweepsAMonth * float64(o.deliver.in+o.deliver.out) / gigabyte * prices.betweenGB
	return c
}

// added is what every sweep adds to what is stored, in bytes. Hours are added once an hour: six sweeps
// share them.
func (s stored) added() (rows, blobs float64) {
	for kind, n := range s.tables {
		if grown[kind] {
			rows += float64(n)
		}
	}
	for folder, n := range s.blobs {
		if grown[folder] {
			blobs += float64(n)
		}
	}
	return rows + float64(s.tables["hours"])/sweepsAnHour, blobs
}
