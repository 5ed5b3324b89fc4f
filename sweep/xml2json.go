package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"isochrone/sweep/convert/charset"
	"isochrone/sweep/convert/xmljson"
	"isochrone/sweep/convert/xmltext"
)

// maxXMLBytes is the most that one document may unpack to: it is held in memory, several at once.
const maxXMLBytes = 256 << 20

func newXML2JSON(s *session) *cobra.Command {
	var x xml2json
	var indent bool
	cmd := &cobra.Command{
		Use:   "xml2json [FILE|FOLDER...]",
		Short: "Turn XML of any kind into JSON, one file or whole folders of them",
		Long: `xml2json turns XML into JSON by the rules of json(xml(…)) in Logic Apps, which are those of
Json.NET: attributes are "@name", text beside them is "#text", equal names are one array, all
values are strings. It needs no storage.

It reads files, and folders with all below them (in these what is named *.xml or *.xml.gz, and
what begins with "<"; links are not followed). "-" is standard input, and so is no argument at
all. Byte-order marks, UTF-16 and UTF-32, declared encodings, gzip, base64 and the envelope that
Logic Apps makes of octets are undone first. Document type declarations are refused; with
--doctype they are kept, as "!DOCTYPE", and never interpreted.

Without --out the JSON goes to standard output, a document a line. With it the files go into
that folder, laid out as they were, as many at once as there are processors: a.xml becomes
a.json, a.jtl becomes a.jtl.json. What exists is not overwritten without --force, and no file is
ever there in part.

A file that is refused does not end the work: each is named, with the place, the reason and what
to do; the exit code is then 1.`,
		Example: `  sweep xml2json result.xml
  curl -s https://example.com/result.xml | sweep xml2json --indent
  sweep xml2json results/ --out json/ --array httpSample`,
		RunE: func(cmd *cobra.Command, args []string) error {
			x.session = s
			if indent {
				x.options.Indent = "  "
			}
			return x.run(cmd.Context(), args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&x.out, "out", "", "write files into this folder, and not to standard output")
	flags.BoolVar(&x.force, "force", false, "overwrite files that exist")
	flags.StringArrayVar(&x.options.Arrays, "array", nil, "an element, named with its prefix, that is always an array (repeatable)")
	flags.BoolVar(&indent, "indent", false, "write a member a line, indented")
	flags.BoolVar(&x.options.Doctype, "doctype", false, "keep document type declarations rather than refuse them")
	noFiles(cmd, "array")
	return cmd
}

// xml2json is one call of the command.
type xml2json struct {
	*session
	out     string
	force   bool
	options xmljson.Options
}

func (x *xml2json) run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		args = []string{"-"}
	}
	if x.force && x.out == "" {
		return usage("give --out, or leave --force out", "--force is about files, and there are none without --out")
	}
	if x.out != "" {
		return x.files(ctx, args)
	}
	for _, name := range args {
		if info, err := os.Stat(name); name != "-" && err == nil && info.IsDir() {
			return usage("give --out FOLDER for the JSON files", "%q is a folder", name)
		}
	}
	refused := 0
	for _, name := range args {
		err := x.print(ctx, name)
		if r, ok := errors.AsType[*xmlRefusal](err); ok {
			refused++
			x.refuse(r)
		} else if err != nil {
			return err
		}
	}
	if refused > 0 {
		return bad("", "%d of %s refused", refused, plural(len(args), "document", "documents"))
	}
	return nil
}

// print writes one document and a newline to standard output.
func (x *xml2json) print(ctx context.Context, name string) error {
	in := x.env.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return usage("", "%w", err)
		}
		defer f.Close() // it is only read from
		in = f
	}
	out := &answerWriter{s: x.session}
	err := x.convert(ctx, out, in, titled(name))
	if out.err != nil { // it is not the document's fault
		return out.err
	}
	return err
}

// answerWriter writes to standard output, and remembers that it could not.
type answerWriter struct {
	s   *session
	err error
}

func (w *answerWriter) Write(b []byte) (int, error) {
	if w.err = w.s.write(b); w.err != nil {
		return 0, w.err
	}
	return len(b), nil
}

// convert turns one document into JSON and a newline. What is wrong with the document is a *xmlRefusal; any
// other error is out's own, or that of a context that has ended.
func (x *xml2json) convert(ctx context.Context, out io.Writer, in io.Reader, name string) error {
	document, err := charset.Unwrap(&interruptible{ctx, in}, maxXMLBytes)
	var steps []string
	w := &writeErrors{Writer: out}
	if err == nil {
		steps = document.Steps
		err = xmljson.Convert(w, document, x.options)
	}
	if err == nil {
		_, err = io.WriteString(w, "\n")
	}
	switch {
	case err == nil || ctx.Err() != nil:
		return errors.Join(err, ctx.Err())
	case w.failed:
		return err
	}
	return refusalOf(name, err, steps)
}

// interruptible stops reading when the command is.
type interruptible struct {
	ctx context.Context
	in  io.Reader
}

func (r *interruptible) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.in.Read(b)
}

// writeErrors tells the errors of writing from those of reading.
type writeErrors struct {
	io.Writer
	failed bool
}

func (w *writeErrors) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	w.failed = w.failed || err != nil
	return n, err
}

// xmlRefusal says why a file was not converted.
type xmlRefusal struct {
	file, reason, remedy string
}

func (r *xmlRefusal) Error() string { return r.file + ": " + r.reason }

func (x *xml2json) refuse(r *xmlRefusal) {
	x.warn("%s: %s (%s)", visible(r.file), describe(errors.New(r.reason)), r.remedy)
}

// refusalOf puts the reason and a remedy to an error of reading.
func refusalOf(file string, err error, steps []string) *xmlRefusal {
	if f, ok := errors.AsType[*charset.Fault](err); ok {
		r := &xmlRefusal{file, f.Reason, f.Remedy}
		if f.Offset >= 0 {
			r.reason = fmt.Sprintf("byte %d%s: %s", f.Offset, undone(steps), f.Reason)
		}
		return r
	}
	f, ok := errors.AsType[*xmltext.Fault](err)
	if !ok {
		return &xmlRefusal{file, "reading it: " + err.Error(), "see that the file can be read"}
	}
	r := &xmlRefusal{file: file, reason: fmt.Sprintf("line %d, byte %d%s: %s", f.Line, f.Offset, undone(steps), f.Text)}
	switch {
	case f.Cut && f.Offset == 0:
		r.remedy = "see what should have written it"
	case f.Cut:
		r.remedy = "it was cut off: copy it again, or let the tool that writes it end"
	case f.Doctype:
		r.remedy = "take it out, or keep it with --doctype"
	case f.Limit:
		r.remedy = "split the document"
	default:
		r.remedy = "repair that place, or the tool that wrote it"
	}
	return r
}

// undone says what a place counts in, when it is not the file.
func undone(steps []string) string {
	if len(steps) == 0 {
		return ""
	}
	text := " of the text behind "
	for i, s := range steps {
		if i > 0 {
			text += ", "
		}
		text += s
	}
	return text
}
