package tables

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

func TestEveryBatchIsOneThatTheServiceAccepts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var ops []operation
		for i := range 1 + rnd.IntN(400) {
			body := make([]byte, 1+rnd.IntN(100_000))
			ops = append(ops, operation{entity: entity{fmt.Sprint(rnd.IntN(3)), fmt.Sprint(i), body}})
		}
		all, err := batches(ops)
		must(t, err)
		seen := 0
		for _, batch := range all {
			size := 0
			for _, op := range batch {
				size += len(op.body)
				seen++
				if op.partition != batch[0].partition {
					t.Fatal("a batch crosses partitions")
				}
			}
			if len(batch) == 0 || len(batch) > 100 || size+600*len(batch) >= 4<<20 {
				t.Fatalf("a batch of %d rows and %d bytes", len(batch), size)
			}
		}
		if seen != len(ops) {
			t.Fatalf("%d of %d operations are in batches", seen, len(ops))
		}
	}
}

// What Azure answers to a batch that failed, as it stands in its documentation and on the wire.
const azureBatchAnswer = "--batchresponse_a1b2\r\nContent-Type: multipart/mixed; boundary=changesetresponse_c3d4\r\n\r\n" +
	"--changesetresponse_c3d4\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" +
	"HTTP/1.1 409 Conflict\r\nX-Content-Type-Options: nosniff\r\nContent-Type: application/json;odata=minimalmetadata\r\n\r\n" +
	`{"odata.error":{"code":"EntityAlreadyExists","message":{"lang":"en-US","value":"42:The specified entity already exists.\nRequestId:57d9b721\nTime:2026-11-30T10:20:00Z"}}}` +
	"\r\n--changesetresponse_c3d4--\r\n--batchresponse_a1b2--\r\n"

func TestTheFailedOperationIsReadOutOfABatchesAnswer(t *testing.T) {
	f := &fault{Status: http.StatusAccepted, Index: -1}
	f.read(azureBatchAnswer)
	if f.Status != 409 || f.Code != "EntityAlreadyExists" || f.Index != 42 || f.Message != "The specified entity already exists." {
		t.Errorf("%+v", f)
	}
	if !f.conflict() || f.temporary() {
		t.Errorf("conflict %v, temporary %v", f.conflict(), f.temporary())
	}
	if want := "operation 42 of the batch: 409 EntityAlreadyExists: The specified entity already exists."; f.Error() != want {
		t.Errorf("%q, want %q", f.Error(), want)
	}
}

func TestAzuritesAnswerToAFailedBatchIsReadToo(t *testing.T) {
	s, ctx := newStore(t), background(t)
	table := s.name(dirtyTable)
	must(t, s.Ensure(ctx))
	row := func(key string) entity {
		e, err := newEntity("p", key).done()
		must(t, err)
		return e
	}
	must(t, s.submit(ctx, table, []operation{{row("b"), aztables.TransactionTypeAdd, nil}}))
	err := s.submit(ctx, table, []operation{{row("a"), aztables.TransactionTypeAdd, nil}, {row("b"), aztables.TransactionTypeAdd, nil}, {row("c"), aztables.TransactionTypeAdd, nil}})
	f := readFault(err)
	if f == nil || f.Status != 409 || f.Code != "EntityAlreadyExists" || f.Index != 1 || !exists(err) {
		t.Errorf("adding what exists: %+v", f)
	}
	old := newETag(`W/"datetime'2020-01-01T00%3A00%3A00.0000000Z'"`)
	err = s.submit(ctx, table, []operation{{row("b"), aztables.TransactionTypeUpdateReplace, old}})
	if f := readFault(err); f == nil || f.Status != 412 || f.Code != "UpdateConditionNotSatisfied" || !f.conflict() {
		t.Errorf("changing what was changed: %+v", f)
	}
	err = s.submit(ctx, table, []operation{{row("z"), aztables.TransactionTypeUpdateReplace, old}})
	if f := readFault(err); f == nil || !f.conflict() {
		t.Errorf("changing what is gone: %+v", f)
	}
	if n, err := collect(s.scan(ctx, table, "", 0)); err != nil || len(n) != 1 {
		t.Errorf("%d rows, %v: a batch is stored whole or not at all", len(n), err)
	}
}

func TestWaitsGrowAndAreNeverTheSameForAll(t *testing.T) {
	p := patience{first: 100 * time.Millisecond, most: time.Second}
	for failure, most := range map[int]time.Duration{1: 100, 2: 200, 4: 800, 5: 1000, 60: 1000} {
		seen := map[time.Duration]bool{}
		for range 100 {
			w := p.wait(failure)
			if w > most*time.Millisecond || w < most*time.Millisecond/2 {
				t.Errorf("after failure %d: %s, want %d ms at the most and half of it at the least", failure, w, most)
			}
			seen[w] = true
		}
		if len(seen) < 50 {
			t.Errorf("after failure %d: %d different waits of 100", failure, len(seen))
		}
	}
}
