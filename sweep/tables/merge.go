package tables

import "iter"

// failed is a sequence that is nothing but an error.
func failed[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}

// chain yields one sequence after the other, and does not begin one before it is needed.
func chain[T any](each []iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, seq := range each {
			for r, err := range seq {
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// merge yields several sequences that are in the order of their keys as one that is. Months, or years,
// lie in tables of their own, and a series' newer one comes first, as in the keys.
func merge[T any](each []iter.Seq2[T, error], key func(*T) [2]string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var heads []*head[T]
		for _, seq := range each {
			h := &head[T]{keyOf: key}
			var stop func()
			h.next, stop = iter.Pull2(seq)
			defer stop()
			if h.advance() {
				heads = append(heads, h)
			}
		}
		for len(heads) > 0 {
			first := 0
			for i := range heads { // few: one a month
				if heads[i].before(heads[first]) {
					first = i
				}
			}
			h := heads[first]
			if !yield(h.row, h.err) || h.err != nil {
				return
			}
			if !h.advance() {
				heads = append(heads[:first], heads[first+1:]...)
			}
		}
	}
}

// head is the next row of a sequence.
type head[T any] struct {
	next  func() (T, error, bool)
	keyOf func(*T) [2]string
	row   T
	err   error
	key   [2]string
}

func (h *head[T]) advance() (ok bool) {
	h.row, h.err, ok = h.next()
	if ok && h.err == nil {
		h.key = h.keyOf(&h.row)
	}
	return ok
}

func (h *head[T]) before(o *head[T]) bool {
	switch {
	case h.err != nil || o.err != nil:
		return h.err != nil && o.err == nil
	case h.key[0] != o.key[0]:
		return h.key[0] < o.key[0]
	}
	return h.key[1] < o.key[1]
}

// keyOfRun is the key of a row as it was stored. One that could not be keyed again would sort first, and
// be seen.
func keyOfRun(r *Row) (key [2]string) {
	key[0], key[1], _ = runKey(r.Series, r.Slot)
	return key
}
