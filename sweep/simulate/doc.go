// Package simulate makes history up: what probers would have measured if a stated model were the
// network. Its documents go the way of measured ones, through package ingest, and each says that it is
// simulated; what the model puts in can be asked for, so that a test, a notebook or a reader can hold what
// the analysis finds against it.
package simulate
