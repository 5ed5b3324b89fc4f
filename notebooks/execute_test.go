package notebooks

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isochrone/infra/local/azurite/azuritetest"
)

const python = "/usr/bin/python3"

// An executed notebook, and the folder in which it ran.
type executed struct {
	notebook
	folder string
}

// execute runs a notebook with Debian's Jupyter, as it is stored but for what a test changes in a copy: parameters, lines of Python that
// come after the cell with that tag, and cells that are left out.
func execute(t *testing.T, name string, settings []string, parameters string, without ...string) (e executed) {
	t.Helper()
	root, err := azuritetest.Root()
	must(t, err)
	home := t.TempDir()
	must(t, os.Symlink(filepath.Join(root, "sweep"), filepath.Join(home, "sweep"))) // the regions' time zones, by the path of a checkout
	e.folder = filepath.Join(home, "notebooks")
	must(t, os.Mkdir(e.folder, 0o700))
	must(t, os.WriteFile(filepath.Join(e.folder, name+".ipynb"), inject(t, name, parameters, without), 0o600))

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-m", "nbconvert", "--to", "notebook", "--execute", "--ExecutePreprocessor.timeout=240", "--output", "executed", name+".ipynb")
	cmd.Dir = e.folder
	// No kernel, library or start-up file of whoever runs the test.
	cmd.Env = append([]string{"HOME=" + home, "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "PYTHONNOUSERSITE=1"}, settings...)
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "OPENBLAS_") { // what numpy's library needs on some processors
			cmd.Env = append(cmd.Env, v)
		}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("executing %s (make deps installs Debian's Jupyter): %v\n%s", name, err, out.String())
	}
	_, e.notebook = read(t, filepath.Join(e.folder, "executed.ipynb"))
	return e
}

// inject is a notebook with another cell behind that of its parameters, and without some cells.
func inject(t *testing.T, name, parameters string, without []string) []byte {
	t.Helper()
	body, err := os.ReadFile(name + ".ipynb")
	must(t, err)
	var n map[string]any
	must(t, json.Unmarshal(body, &n))
	var cells []any
	found := 0
	for _, c := range n["cells"].([]any) {
		is := c.(map[string]any)
		if slices.Contains(without, is["id"].(string)) {
			found++
			continue
		}
		cells = append(cells, c)
		tags, _ := is["metadata"].(map[string]any)["tags"].([]any)
		if slices.Contains(tags, any("parameters")) {
			cells = append(cells, map[string]any{"cell_type": "code", "id": "injected", "metadata": map[string]any{}, "source": parameters, "outputs": []any{}, "execution_count": nil})
		}
	}
	if len(cells) != len(n["cells"].([]any))+1-len(without) || found != len(without) {
		t.Fatalf("%s has no cell with the tag parameters, or more than one, or not the cells %q", name, without)
	}
	n["cells"] = cells
	body, err = json.Marshal(n)
	must(t, err)
	return body
}

// printed is what a cell wrote on standard output.
func (e *executed) printed(t *testing.T, id string) string {
	t.Helper()
	for _, c := range e.Cells {
		if c.ID == id {
			var text strings.Builder
			for _, o := range c.Outputs {
				if o.Type == "stream" && o.Name == "stdout" {
					text.WriteString(string(o.Text))
				}
			}
			return text.String()
		}
	}
	t.Fatalf("there is no cell %q", id)
	return ""
}

// summary reads the numbers that a notebook ends with.
func (e *executed) summary(t *testing.T, into any) {
	t.Helper()
	text := e.printed(t, "summary")
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in the summary\n%s", err, text)
	}
}

// sound holds what is true of every executed notebook: Debian's Python ran it, nothing was said on standard error, and every output
// says first that the history is a model's.
func (e *executed) sound(t *testing.T, origin string) {
	t.Helper()
	version := strings.TrimSpace(strings.TrimPrefix(string(run(t, nil, python, "--version")), "Python"))
	if language, _ := e.Metadata["language_info"].(map[string]any); language["version"] != version {
		t.Errorf("the kernel is Python %v, and %s is %s", language["version"], python, version)
	}
	unsaid := []string{"choose", "line", "zones", "status", "download", "summary"} // settings, files, and numbers with their origin among them
	outputs := 0
	for _, c := range e.Cells {
		for i, o := range c.Outputs {
			if o.Name == "stderr" {
				t.Errorf("cell %q says on standard error:\n%s", c.ID, o.Text)
			}
			if i > 0 || slices.Contains(unsaid, c.ID) {
				continue
			}
			outputs++
			// A picture has it in its title.
			if _, picture := o.Data["image/png"]; !picture && !strings.HasPrefix(string(o.Text), origin) || picture && !strings.Contains(string(c.Source), "origin(") {
				t.Errorf("cell %q does not begin with %q:\n%s", c.ID, origin, o.Text)
			}
		}
	}
	if outputs == 0 {
		t.Error("there is no output")
	}
}
