package config

import (
	"fmt"
	"slices"
)

// suggest names the known word that is nearest to a wrong one, or all of them when none is
// near.
func suggest(word string, known []string) string {
	if near, ok := nearest(word, known); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "want one of " + list(known)
}

// nearest finds the known word with the fewest edits, the first of equals, unless that is more
// than a third of the word.
func nearest(word string, known []string) (string, bool) {
	const longest = 60 // nobody mistypes a longer word; and the work grows with its square
	if len(word) > longest {
		return "", false
	}
	best, least := "", max(1, len(word)/3)+1
	for _, k := range known {
		if d := edits(word, k); d < least {
			best, least = k, d
		}
	}
	return best, best != ""
}

// edits is the optimal string alignment distance: insertions, deletions, replacements and
// swaps of neighbours that turn a into b, by bytes.
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(replace, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// list writes words for a message, in the order given.
func list(words []string) string {
	out := ""
	for i, w := range slices.Compact(slices.Clone(words)) {
		if i > 0 {
			out += ", "
		}
		out += quote(w)
	}
	return out
}
