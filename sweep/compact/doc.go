// Package compact makes the lake: for each source, day and probe one Parquet file of the samples that came
// as a file an assignment.
//
// A file follows from its inputs alone, to the byte, whatever order they came in. It is replaced whole,
// and only if it is still the one that was read before its inputs were listed; so crashes, late
// results and several programs at once end in the same lake. Raw files are deleted when the lake has
// been seen to hold them; what a later rewrite cannot read from them any more it reads from the lake's
// own file.
package compact
