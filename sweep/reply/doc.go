// Package reply gives answers their shape in JSON: what the Query function sends and what the command
// line prints with --format json come from the same code.
//
// Units are in the names (_us microseconds, _bps bit/s, _ratio 0 to 1, _s seconds, _km kilometres), times
// are RFC 3339 in UTC, and what is absent is null, never 0. A key that was given out once stays.
package reply
