package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// files converts files into the folder of --out, several at once.
func (x *xml2json) files(ctx context.Context, args []string) error {
	jobs, err := x.gather(args)
	if err != nil {
		return err
	}
	b := batch{all: len(jobs), shown: x.progress()}
	err = x.batch(ctx, jobs, &b)
	b.shown.clear()
	refused := 0
	for _, j := range jobs {
		if j.refusal != nil {
			refused++
			x.refuse(j.refusal)
		}
	}
	if err != nil {
		return err
	}
	summary := fmt.Sprintf("n = %s converted into %s; %s bytes of JSON\n", plural(len(jobs)-refused, "file", "files"), quotedPath(x.out), count(b.bytes.Load()))
	if err := x.write([]byte(summary)); err != nil {
		return err
	}
	if refused > 0 {
		return bad("", "%d of %s refused", refused, plural(len(jobs), "file", "files"))
	}
	return nil
}

// batch is what the workers come to together.
type batch struct {
	all           int
	done, refused atomic.Int64
	bytes         atomic.Int64 // of JSON
	begun         atomic.Int64 // files, to tell temporary names apart
	shown         *progress
}

// tick counts one more file, and shows how many there were.
func (b *batch) tick(refused bool) {
	if refused {
		b.refused.Add(1)
	}
	done := b.done.Add(1)
	b.shown.say("%s %d of %s, %d refused", gauge(float64(done), float64(b.all)), done, plural(b.all, "file", "files"), b.refused.Load())
}

// batch works through the jobs, and puts a refusal to those that were refused. Its error ends the work: a
// folder that cannot be written to, or an interruption.
func (x *xml2json) batch(ctx context.Context, jobs []job, b *batch) error {
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range jobs {
		j := &jobs[i]
		if working.Err() != nil {
			break
		}
		if j.refusal != nil {
			b.tick(true)
			continue
		}
		group.Go(func() error {
			err := x.file(working, j, b)
			if r, ok := errors.AsType[*xmlRefusal](err); ok {
				j.refusal, err = r, nil
			}
			b.tick(j.refusal != nil)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// file converts one, under a name that nobody looks for until it is whole.
func (x *xml2json) file(ctx context.Context, j *job, b *batch) error {
	if err := x.occupied(j); err != nil {
		return err
	}
	in, err := os.Open(j.from)
	if err != nil {
		return unreadable(j.from, err)
	}
	defer in.Close() // it is only read from
	if err := os.MkdirAll(filepath.Dir(j.to), 0o777); err != nil {
		return unwritable(err)
	}
	temporary := filepath.Join(filepath.Dir(j.to), fmt.Sprintf(".xml2json.%d.%d.part", os.Getpid(), b.begun.Add(1)))
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return unwritable(err)
	}
	out := &counter{w: f}
	err = x.convert(ctx, out, in, j.from)
	if err == nil {
		err = f.Close()
	} else {
		_ = f.Close() // the error that is there already says more
	}
	if err == nil {
		err = x.occupied(j)
	}
	if err == nil {
		err = os.Rename(temporary, j.to)
	}
	if err == nil {
		b.bytes.Add(out.n)
		return nil
	}
	_ = os.Remove(temporary) // the error that is there already says more
	if _, ok := errors.AsType[*xmlRefusal](err); ok || ctx.Err() != nil {
		return err
	}
	return unwritable(err)
}

// occupied refuses a job whose file is there already.
func (x *xml2json) occupied(j *job) error {
	info, err := os.Lstat(j.to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return unwritable(err)
	case info.IsDir():
		return &xmlRefusal{j.from, quotedPath(j.to) + " is a folder", "give another folder to --out"}
	case !x.force:
		return &xmlRefusal{j.from, quotedPath(j.to) + " exists already", "give --force to overwrite it"}
	}
	return nil
}

func unwritable(err error) error {
	return &problem{code: exitUnreachable, err: fmt.Errorf("writing into --out: %w", err), remedy: "see that there is room and that you may write there; what is done already stays"}
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
