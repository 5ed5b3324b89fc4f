package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"isochrone/prober/wire"
	"isochrone/prober/wire/account"
	"isochrone/sweep/convert"
	"isochrone/sweep/convert/foreign"
	"isochrone/sweep/ingest"
)

// atMtime is the value of --at that stands for the time at which a file was last written.
const atMtime = "mtime"

// noEnvironment names the environment of rows that are shown and not stored, where no setting does.
const noEnvironment = "none"

// source is one document as the operator names it.
type source struct {
	name string
	in   io.Reader
	size int64 // 0 where it is not known
	ingest.Parameters
}

// open opens a file, or standard input for "-". A file that cannot be read ends the command.
func (c *converter) source(name string) (_ *source, closed func(), err error) {
	src := &source{name: name, in: c.env.stdin, Parameters: c.parameters}
	closed = func() {}
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, nil, usage("", "%w", err)
		}
		closed = func() { _ = f.Close() } // it is only read from
		src.in = f
		info, err := f.Stat()
		if err != nil {
			closed()
			return nil, nil, usage("", "%w", err)
		}
		src.size = info.Size()
		if src.At == atMtime {
			src.At = info.ModTime().UTC().Format(time.RFC3339)
		}
	}
	if src.At == atMtime {
		closed()
		return nil, nil, usage("", "--at mtime: %s has no such time; give one like 2026-11-30T10:00:00Z", titled(name))
	}
	src.in = &watched{in: src.in, of: src, progress: c.progress}
	return src, closed, nil
}

// watched is a reader whose progress is shown.
type watched struct {
	in       io.Reader
	of       *source
	progress *progress
	done     int64
}

// Read implements io.Reader.
func (w *watched) Read(b []byte) (int, error) {
	n, err := w.in.Read(b)
	w.done += int64(n)
	if w.of.size > 0 {
		w.progress.say("%s: %s of %s", titled(w.of.name), megabytes(w.done), megabytes(w.of.size))
	} else {
		w.progress.say("%s: %s", titled(w.of.name), megabytes(w.done))
	}
	return n, err
}

// read converts a document: one that can be read as a stream in constant memory, whatever its size,
// and any other as Results does. The body comes with it when there is one to store.
func (c *converter) read(ctx context.Context, src *source) (body []byte, converted *ingest.Converted, err error) {
	packed := bufio.NewReaderSize(src.in, foreign.HeadBytes)
	if !c.storing() {
		text, err := convert.UnwrapStream(packed)
		if err != nil {
			return nil, nil, err
		}
		in := bufio.NewReaderSize(text, foreign.HeadBytes)
		head, err := in.Peek(foreign.HeadBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
		if convert.Streams(head) {
			converted, err = c.of(head).ConvertStream(in, src.Parameters)
			return nil, converted, err
		}
		if body, err = oneDocument(in); err != nil {
			return nil, nil, err
		}
	} else if body, err = oneDocument(packed); err != nil {
		return nil, nil, err
	}
	converted, err = c.of(body).Convert(ctx, body, src.Parameters)
	return body, converted, err
}

// oneDocument reads what one document may have.
func oneDocument(in io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(in, wire.MaxDocumentBytes+1))
	if err != nil {
		return nil, err
	}
	if len(body) > wire.MaxDocumentBytes {
		var streams []string
		for _, f := range foreign.Formats() {
			if f.Streams {
				streams = append(streams, f.Name)
			}
		}
		return nil, &convert.Refusal{Stage: convert.StageRead, Text: fmt.Sprintf("it is larger than %d MiB", wire.MaxDocumentBytes>>20), Offset: convert.NoOffset, TooLarge: true,
			Remedy: fmt.Sprintf("split it; what these tools print may have any size, but cannot be stored so: %s", strings.Join(streams, ", "))}
	}
	return body, nil
}

// of is an ingester for the environment that is set, or the document's own, or none.
func (c *converter) of(text []byte) *ingest.Ingester {
	environment := c.named
	if environment == "" {
		environment = noEnvironment
		if own := convert.EnvironmentOf(text); own != "" {
			environment = own
		}
	}
	return &ingest.Ingester{Environment: environment, Now: c.env.now}
}

// nameEnvironment finds the environment that is set, if one is.
func (c *converter) nameEnvironment() (err error) {
	if c.environment != "" || c.env.get(account.EnvEnvironment) != "" {
		c.named, err = c.environmentName()
	}
	return err
}
