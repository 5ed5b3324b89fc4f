// Package rollup makes history from runs: an hour of a series from its runs, and what the hours of a
// day are usually like from four weeks of hours.
//
// Everything is computed anew from what lies below it and put in the place of what was there; nothing
// counts up. So it does not matter in which order runs came, how often an hour was computed, or how
// many programs do it at once. Quantiles come from merged histograms, and from nothing else.
package rollup
