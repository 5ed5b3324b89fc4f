package experiment

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

// Table is what is printed, and what the README gets: Markdown.
type Table struct {
	Title   string
	Columns []string // a column of figures ends in a colon, as its ruler does in Markdown
	Rows    [][]string
	Notes   []string // what differs, and why
}

func markdown(all []Table) string {
	var b strings.Builder
	for i, t := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		t.write(&b)
	}
	return b.String()
}

func (t Table) write(b *strings.Builder) {
	titles, right, widths := make([]string, len(t.Columns)), make([]bool, len(t.Columns)), make([]int, len(t.Columns))
	for i, c := range t.Columns {
		titles[i], right[i] = strings.CutSuffix(c, ":")
		widths[i] = max(3, utf8.RuneCountInString(titles[i]))
		for _, row := range t.Rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	line := func(cells []string) {
		for i, c := range cells {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if right[i] {
				c = pad + c
			} else {
				c += pad
			}
			b.WriteString("| " + c + " ")
		}
		b.WriteString("|\n")
	}
	rulers := make([]string, len(titles))
	for i := range rulers {
		rulers[i] = strings.Repeat("-", widths[i])
		if right[i] {
			rulers[i] = rulers[i][1:] + ":"
		}
	}
	b.WriteString(t.Title + "\n\n")
	line(titles)
	line(rulers)
	for _, row := range t.Rows {
		line(row)
	}
	for _, n := range t.Notes {
		b.WriteString("\n" + n + "\n")
	}
}

// The lines of a README between which is what was measured.
const (
	measuredBegins = "<!-- measured -->\n"
	measuredEnds   = "<!-- /measured -->\n"
)

// writeMeasured replaces in a README what was measured.
func writeMeasured(name, text string) error {
	body, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("reading what was measured before: %w", err)
	}
	before, rest, begins := strings.Cut(string(body), measuredBegins)
	_, after, ends := strings.Cut(rest, measuredEnds)
	if !begins || !ends {
		return fmt.Errorf("writing what was measured: %q has no lines %q and %q, between which it goes", name, strings.TrimSpace(measuredBegins), strings.TrimSpace(measuredEnds))
	}
	if err := os.WriteFile(name, []byte(before+measuredBegins+"\n"+text+"\n"+measuredEnds+after), 0o644); err != nil {
		return fmt.Errorf("writing what was measured: %w", err)
	}
	return nil
}

// figure writes a figure, and that of the original beside it.
func figure(ours float64, original string) string {
	if original == "" {
		original = "–"
	}
	return fmt.Sprintf("%.2f (%s)", ours, original)
}
