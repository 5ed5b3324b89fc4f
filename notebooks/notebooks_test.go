// Package notebooks holds the notebooks to their promises: they are stored in one form, run on a real storage
// emulator, and find what a model put into the history there.
package notebooks

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// names are all notebooks, without the ending.
var names = []string{"01-first-look", "02-time-of-day", "03-lake", "04-recovery-planning"}

// notebook is a stored or executed notebook, nbformat 4.5.
type notebook struct {
	Cells         []cell         `json:"cells"`
	Metadata      map[string]any `json:"metadata"`
	Nbformat      int            `json:"nbformat"`
	NbformatMinor int            `json:"nbformat_minor"`
}

type cell struct {
	Type           string   `json:"cell_type"`
	ID             string   `json:"id"`
	Source         lines    `json:"source"`
	Outputs        []output `json:"outputs,omitempty"`
	ExecutionCount *int     `json:"execution_count,omitempty"`
	Metadata       struct {
		Tags []string `json:"tags"`
	} `json:"metadata"`
}

// output is what a cell printed (Name is stdout or stderr), showed, or failed with.
type output struct {
	Type string           `json:"output_type"`
	Name string           `json:"name"`
	Text lines            `json:"text"`
	Data map[string]lines `json:"data"`
}

// lines is a text, which a notebook stores as a list of its lines, or as it is.
type lines string

func (l *lines) UnmarshalJSON(b []byte) error {
	var list []string
	if err := json.Unmarshal(b, &list); err == nil {
		*l = lines(strings.Join(list, ""))
		return nil
	}
	var one string
	if err := json.Unmarshal(b, &one); err != nil {
		*l = lines(b) // a table of a kind that no test reads
		return nil
	}
	*l = lines(one)
	return nil
}

func (c *cell) tagged(tag string) bool { return slices.Contains(c.Metadata.Tags, tag) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, file string) (body []byte, n notebook) {
	t.Helper()
	body, err := os.ReadFile(file)
	must(t, err)
	if err := json.Unmarshal(body, &n); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return body, n
}

func TestTheNotebooksAreAllThere(t *testing.T) {
	files, err := filepath.Glob("*.ipynb")
	must(t, err)
	var found []string
	for _, f := range files {
		found = append(found, strings.TrimSuffix(f, ".ipynb"))
	}
	if !slices.Equal(found, names) {
		t.Errorf("notebooks %q, and the tests know %q", found, names)
	}
}

// Notebooks are stored without outputs, so that a change of one shows what was changed, and nobody's measurements get into
// the repository; in one form, so that an editor that writes another does not change every line.
func TestNotebooksAreStoredWithoutOutputsInOneForm(t *testing.T) {
	id := regexp.MustCompile(`^[a-z0-9-]{1,64}$`)
	for _, name := range names {
		body, n := read(t, name+".ipynb")
		if n.Nbformat != 4 || n.NbformatMinor != 5 {
			t.Errorf("%s: nbformat %d.%d, want 4.5", name, n.Nbformat, n.NbformatMinor)
		}
		if spec, _ := n.Metadata["kernelspec"].(map[string]any); spec["name"] != "python3" || len(n.Metadata) != 2 {
			t.Errorf("%s: metadata %v: want the kernel python3, the language, and nothing of the machine on which it was edited", name, n.Metadata)
		}
		seen := map[string]bool{}
		for _, c := range n.Cells {
			if seen[c.ID] || !id.MatchString(c.ID) {
				t.Errorf("%s: cell id %q is there twice, or says nothing", name, c.ID)
			}
			seen[c.ID] = true
			if len(c.Outputs) > 0 || c.ExecutionCount != nil {
				t.Errorf("%s, cell %q is stored with its output: clear the outputs of all cells", name, c.ID)
			}
		}
		if want := normal(t, body); !bytes.Equal(body, want) {
			t.Errorf("%s.ipynb is not in its normal form: keys sorted, one blank of indentation, no escapes, a newline at the end", name)
		}
	}
}

// normal is the form in which a notebook is stored: that of Python's json with indent=1, sort_keys and ensure_ascii=False.
func normal(t *testing.T, body []byte) []byte {
	t.Helper()
	var any any
	must(t, json.Unmarshal(body, &any))
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	must(t, e.Encode(any))
	return out.Bytes()
}

// A notebook is often copied somewhere alone, so each has what it needs; what several have is the same in all.
func TestSharedCellsAreTheSame(t *testing.T) {
	shared := map[string][]string{} // ids, and in which notebooks they may differ
	for _, id := range []string{"about-histogram", "histogram", "draw", "choose", "summarize", "about-summary"} {
		shared[id] = nil
	}
	shared["connect"], shared["about-connect"] = []string{"03-lake"}, []string{"03-lake"} // blobs instead of tables
	first := map[string]lines{}
	count := map[string]int{}
	for _, name := range names {
		_, n := read(t, name+".ipynb")
		for _, c := range n.Cells {
			except, ok := shared[c.ID]
			if !ok || slices.Contains(except, name) {
				continue
			}
			if count[c.ID]++; count[c.ID] == 1 {
				first[c.ID] = c.Source
			} else if c.Source != first[c.ID] && !(c.ID == "about-summary" && name == "04-recovery-planning") {
				t.Errorf("%s: cell %q is not as in the notebooks before it", name, c.ID)
			}
		}
	}
	for id := range shared {
		if count[id] < 2 {
			t.Errorf("only %d notebooks have a cell %q", count[id], id)
		}
	}
}

// What a cell shows is explained above it, and every picture and table says whether anybody measured what is in it.
func TestCellsAreExplainedAndSayWhetherAnybodyMeasured(t *testing.T) {
	tools := []string{"draw", "latest", "choose", "line", "summarize", "summary"} // define something, or print a choice
	for _, name := range names {
		_, n := read(t, name+".ipynb")
		for i, c := range n.Cells {
			if c.Type != "code" {
				continue
			}
			if !slices.Contains(tools, c.ID) && n.Cells[i-1].Type != "markdown" {
				t.Errorf("%s: nothing explains cell %q", name, c.ID)
			}
			if s := string(c.Source); strings.Contains(s, "plt.show()") && !strings.Contains(s, "origin(") {
				t.Errorf("%s: the picture of cell %q does not say whether anybody measured it", name, c.ID)
			}
		}
	}
}
