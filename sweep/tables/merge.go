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
func chain(each []iter.Seq2[Row, error]) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, seq := range each {
			for r, err := range seq {
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// merge yields several sequences that are in the order of their keys as one that is. Months lie
// in tables of their own, and a series' newer month comes first, as in the keys.
func merge(each []iter.Seq2[Row, error]) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var heads []*head
		for _, seq := range each {
			h := &head{}
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
type head struct {
	next func() (Row, error, bool)
	row  Row
	err  error
	key  [2]string
}

func (h *head) advance() (ok bool) {
	h.row, h.err, ok = h.next()
	if ok && h.err == nil {
		// Stored rows have keys; one that could not be keyed again would sort first, and be seen.
		h.key[0], h.key[1], _ = runKey(h.row.Series, h.row.Slot)
	}
	return ok
}

func (h *head) before(o *head) bool {
	switch {
	case h.err != nil || o.err != nil:
		return h.err != nil && o.err == nil
	case h.key[0] != o.key[0]:
		return h.key[0] < o.key[0]
	}
	return h.key[1] < o.key[1]
}
