package foreign

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"isochrone/prober/wire"
)

// formatsPage is the page that says what is read of each tool.
func formatsPage(t *testing.T) string {
	t.Helper()
	return string(readSample(t, "../../../docs/formats.md"))
}

// rowsOf are the rows of the first table behind a mark, cell by cell, its head left out.
func rowsOf(t *testing.T, page, mark string) (rows [][]string) {
	t.Helper()
	_, rest, found := strings.Cut(page, mark)
	if !found {
		t.Fatalf("docs/formats.md has no %q", mark)
	}
	for line := range strings.Lines(rest) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "|") {
			if len(rows) > 0 {
				break
			}
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) < 3 {
		t.Fatalf("docs/formats.md has no table behind %q", mark)
	}
	return rows[2:]
}

var (
	namedFirst = regexp.MustCompile("^`([a-z0-9]+)`")
	wholeCount = regexp.MustCompile(`^(\d+): (.*)$`)
	partCount  = regexp.MustCompile(`(?:^|, )(\d+) `)
)

// byFormat are a table's rows by the format that each begins with: every format has one, in their order.
func byFormat(t *testing.T, rows [][]string, columns int) map[string][]string {
	t.Helper()
	var have, want []string
	out := map[string][]string{}
	for _, cells := range rows {
		m := namedFirst.FindStringSubmatch(cells[0])
		if m == nil || len(cells) != columns || slices.Contains(cells, "") {
			t.Errorf("docs/formats.md: the row %q: want %d cells with something in them, the first beginning with the format's name", cells, columns)
			continue
		}
		have = append(have, m[1])
		out[m[1]] = cells
	}
	for _, f := range Formats() {
		want = append(want, f.Name)
	}
	if !slices.Equal(have, want) {
		t.Fatalf("docs/formats.md has rows for %q, the code reads %q", have, want)
	}
	return out
}

func TestFormatsPageHasARowAFormatWithItsSamples(t *testing.T) {
	for name, cells := range byFormat(t, rowsOf(t, formatsPage(t), "<!-- tools: held against the code by a test -->"), 5) {
		there := len(samples(t, name))
		m := wholeCount.FindStringSubmatch(cells[2])
		if m == nil || m[1] != strconv.Itoa(there) {
			t.Errorf("docs/formats.md says of the samples of %s %q; testdata/%s has %d", name, cells[2], name, there)
			continue
		}
		sum := 0
		for _, part := range partCount.FindAllStringSubmatch(m[2], -1) {
			n, err := strconv.Atoi(part[1])
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		if sum != there {
			t.Errorf("docs/formats.md: the parts of the samples of %s, %q, come to %d and not to %d", name, m[2], sum, there)
		}
	}
}

// Where the page says that a tool does not tell a thing, no sample tells it.
func TestFormatsPageSaysWhatDocumentsSayOfThemselves(t *testing.T) {
	page := formatsPage(t)
	kinds := map[wire.Kind]bool{}
	told := byFormat(t, rowsOf(t, page, "### What a document says of itself"), 4)
	for _, f := range Formats() {
		for _, name := range samples(t, f.Name) {
			d, err := f.Read(bytes.NewReader(readSample(t, name)))
			if err != nil { // some are there to be refused
				continue
			}
			for i := range d.Findings {
				found := &d.Findings[i]
				kinds[found.Run.Kind] = true
				for column, said := range map[int]bool{1: found.From != "", 2: found.To != "", 3: found.Run.Start != nil} {
					if said && told[f.Name][column] == "-" {
						t.Errorf("%s: from %q to %q, start %v; docs/formats.md has a hyphen for it in column %d", name, found.From, found.To, found.Run.Start, column)
					}
				}
			}
		}
	}
	_, others, _ := strings.Cut(page, "Rows of foreign documents may have other words as `kind`")
	others, _, _ = strings.Cut(others, "\n\n")
	for kind := range kinds {
		if !slices.Contains(wire.Kinds(), kind) && !strings.Contains(others, "`"+string(kind)+"`") {
			t.Errorf("docs/formats.md does not list the kind %q", kind)
		}
	}
}

func TestFormatsPageNamesWhatIsReadAsAStream(t *testing.T) {
	_, line, _ := strings.Cut(formatsPage(t), "| `sweep convert` of files")
	line, _, _ = strings.Cut(line, "\n")
	_, line, _ = strings.Cut(line, "no storage needed | of ")
	line, _, _ = strings.Cut(line, " any size")
	for _, f := range Formats() {
		if strings.Contains(line, "`"+f.Name+"`") != f.Streams {
			t.Errorf("%s is read as a stream: %v; docs/formats.md says of any size: %s", f.Name, f.Streams, line)
		}
	}
}
