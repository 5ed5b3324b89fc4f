package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"isochrone/infra/local/stack"
)

// What is offered to Results: in a round documents of many runs, and at the end documents of one.
const (
	offerDocuments = 200 // a round
	offerRuns      = 100 // a document
	offerSamples   = 10  // a run
	offerSingles   = 5000
	offerSenders   = 8
	offerBar       = 0.8 // of the bare loop's rate
	offerTries     = 20  // of one document, while Results answers 503
)

const offerConfig = `version: 1
environment: offer
loopback: true
probers:
  - {region: westeurope, addresses: {public: [127.0.1.1/32]}}
  - {region: northeurope, addresses: {public: [127.0.1.2/32]}}
probes:
  - {name: tcp-64, kind: tcp, schedule: "0 3 1 1 *", paths: [public], count: 10, interval: 20ms, request: 64, response: 16}
`

// offer measures how fast the app takes documents that are sent to it, beside bare loops that write
// the same bodies as blobs and the same rows in batches.
func (b *bench) offer(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "isochrone-offer-")
	if err != nil {
		return fmt.Errorf("making a folder for the stack: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := b.pack(ctx, dir); err != nil {
		return err
	}
	s, err := stack.Start(ctx, stack.Options{
		Root: b.root, Dir: dir, Prober: filepath.Join(b.programs, "prober"), AppDir: filepath.Join(dir, "app"), Config: []byte(offerConfig),
		SweepSchedule: "0 0 3 1 1 *", IngestSchedule: "0 * * * * *", Poll: 30 * time.Second, Heartbeat: 30 * time.Second, Log: slog.New(slog.NewJSONHandler(io.Discard, nil)),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	o := &offered{b: b, stack: s, first: lastMonth(time.Now()), client: &http.Client{Timeout: time.Minute,
		Transport: &http.Transport{MaxIdleConnsPerHost: offerSenders}}}
	if err := o.batches(ctx); err != nil {
		return err
	}
	if err := o.singles(ctx); err != nil {
		return err
	}
	return o.check(ctx)
}

// offered counts what was sent and how it was answered.
type offered struct {
	b       *bench
	stack   *stack.Stack
	client  *http.Client
	first   time.Time // begin of the first document of the first round
	sent    int       // documents so far, each with a second of its own
	runs    int
	refused atomic.Int64 // 503, each sent again
	later   atomic.Int64 // 202: kept, and stored by the next Ingest
}

func lastMonth(now time.Time) time.Time {
	return time.Date(now.UTC().Year(), now.UTC().Month()-1, 1, 0, 0, 0, 0, time.UTC)
}

// documents makes n documents of so many runs, of some months before the first. No two runs have a series
// and a second in common. A month is a table of ours: a round begins with an empty one, as the bare loops do.
func (o *offered) documents(n, runs, months int) ([][]byte, error) {
	out := make([][]byte, n)
	for i := range out {
		body, err := offerDocument(o.first.AddDate(0, -months, 0).Add(time.Duration(o.sent)*time.Second), runs, uint64(o.sent))
		if err != nil {
			return nil, err
		}
		out[i] = body
		o.sent++
		o.runs += runs
	}
	return out, nil
}

// post sends a document until it is taken, and returns how long the last answer took.
func (o *offered) post(ctx context.Context, body []byte) (time.Duration, error) {
	for range offerTries {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.stack.Host.URL()+"/api/results", bytes.NewReader(body))
		if err != nil {
			return 0, fmt.Errorf("offering a document: %w", err)
		}
		req.Header.Set("x-functions-key", o.stack.Host.FunctionKey("Results"))
		began := time.Now()
		resp, err := o.client.Do(req)
		if err != nil {
			return 0, fmt.Errorf("offering a document: %w", err)
		}
		text, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
		took := time.Since(began)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			return 0, fmt.Errorf("offering a document: %w", err)
		}
		switch resp.StatusCode {
		case http.StatusAccepted:
			o.later.Add(1)
			return took, nil
		case http.StatusCreated:
			return took, nil
		case http.StatusServiceUnavailable:
			o.refused.Add(1)
			wait, err := strconv.Atoi(resp.Header.Get("Retry-After"))
			if err != nil {
				return 0, fmt.Errorf("offering a document: 503 without Retry-After: %w", err)
			}
			select {
			case <-time.After(time.Duration(min(wait, 2)) * time.Second): // sooner than asked, to offer more
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		default:
			return 0, fmt.Errorf("offering a document: it is answered with %s: %s", resp.Status, text)
		}
	}
	return 0, fmt.Errorf("offering a document: it was answered with 503 %d times", offerTries)
}

// all sends documents, several at once.
func (o *offered) all(ctx context.Context, bodies [][]byte) (took time.Duration, answers []float64, err error) {
	answers = make([]float64, len(bodies))
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(offerSenders)
	began := time.Now()
	for i, body := range bodies {
		work.Go(func() error {
			answer, err := o.post(ctx, body)
			answers[i] = answer.Seconds() * 1000
			return err
		})
	}
	err = work.Wait()
	return time.Since(began), answers, err
}

// batches offers documents of many runs, and after each round writes the same without us: in a loop,
// and in as many loops at once as there are senders.
func (o *offered) batches(ctx context.Context) error {
	var rates, acknowledged, toLoop, toLoops []float64
	const runs = offerDocuments * offerRuns
	for round := range o.b.rounds {
		bodies, err := o.documents(offerDocuments, offerRuns, round)
		if err != nil {
			return err
		}
		took, answers, err := o.all(ctx, bodies)
		if err != nil {
			return err
		}
		bare, err := newBareOffer(ctx, o.stack, round, bodies)
		if err != nil {
			return err
		}
		loop, err := bare.write(ctx, 1)
		if err != nil {
			return err
		}
		loops, err := bare.write(ctx, offerSenders)
		if err != nil {
			return err
		}
		rates, acknowledged = append(rates, runs/took.Seconds()), append(acknowledged, answers...)
		toLoop, toLoops = append(toLoop, loop.Seconds()/took.Seconds()), append(toLoops, loops.Seconds()/took.Seconds())
		o.b.say("round %d: %d documents of %d runs from %d senders, %.0f runs/s, answered in %.0f ms at p50 and %.0f ms at p99; a bare loop of blobs and batches %.0f runs/s: %.3f of it; %d loops at once %.0f runs/s: %.3f",
			round+1, offerDocuments, offerRuns, offerSenders, rates[round], quantile(answers, 0.5), quantile(answers, 0.99), runs/loop.Seconds(), toLoop[round], offerSenders, runs/loops.Seconds(), toLoops[round])
	}
	o.b.figure("offer_batched_rate", median(rates), "runs/s", nil)
	o.b.figure("offer_batched_acknowledged_p99", quantile(acknowledged, 0.99), "ms", nil)
	o.b.figure("offer_batched_to_bare_batch_and_blob", median(toLoop), "ratio", &bar{offerBar, true})
	o.b.figure(fmt.Sprintf("offer_batched_to_%d_bare_loops", offerSenders), median(toLoops), "ratio", nil)
	return nil
}

// singles offers documents of one run each.
func (o *offered) singles(ctx context.Context) error {
	bodies, err := o.documents(offerSingles, 1, o.b.rounds)
	if err != nil {
		return err
	}
	took, answers, err := o.all(ctx, bodies)
	if err != nil {
		return err
	}
	o.b.say("%d documents of one run: %.0f a second, answered in %.1f ms at p50 and %.1f ms at p99", offerSingles, offerSingles/took.Seconds(), quantile(answers, 0.5), quantile(answers, 0.99))
	o.b.figure("offer_single_rate", offerSingles/took.Seconds(), "documents/s", nil)
	o.b.figure("offer_single_acknowledged_p99", quantile(answers, 0.99), "ms", nil)
	return nil
}

// check counts what is stored: nothing may be lost, and nothing be there twice.
func (o *offered) check(ctx context.Context) error {
	deadline := time.Now().Add(3 * time.Minute)
	for {
		waiting, err := o.stack.Archive.InboxSize(ctx)
		if err != nil {
			return err
		}
		if waiting == 0 {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d documents are still in the inbox", waiting)
		}
		time.Sleep(time.Second)
	}
	rows, documents, err := countOffered(ctx, o.stack)
	if err != nil {
		return err
	}
	o.b.say("%d runs in %d documents were sent, %d answers of 503 and %d of 202; stored are %d rows of %d documents", o.runs, o.sent, o.refused.Load(), o.later.Load(), rows, documents)
	o.b.figure("offer_lost_or_twice", float64(max(o.runs-rows, rows-o.runs)+max(o.sent-documents, documents-o.sent)), "rows", atMost(0))
	o.b.figure("offer_503", float64(o.refused.Load()), "answers", nil)
	return nil
}
