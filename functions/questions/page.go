package questions

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"
)

const (
	defaultLimit = 1000
	maxLimit     = 5000
)

// place is what a page's token holds. The times are in it because "the last 7 days" are others by the time
// of the next page.
type place struct {
	Of    string `json:"of"` // hash of the question and its other parameters
	At    int    `json:"at,omitempty"`
	After string `json:"after,omitempty"` // in place of At where an answer is read from there on
	Since int64  `json:"s"`
	Until int64  `json:"u"`
}

// identity is a hash of what all pages of an answer share.
func (a *asked) identity() string {
	b, err := json.Marshal(a.values) // in the order of the keys
	if err != nil {
		return "" // it cannot be: they are strings
	}
	sum := sha256.Sum256(append([]byte(a.question.name+"?"), b...))
	return hex.EncodeToString(sum[:8])
}

// readPage reads the token, after all else was checked. It leaves the token out of the values.
func (a *asked) readPage() *refusal {
	token, given := a.values["next"]
	delete(a.values, "next")
	if !given {
		return nil
	}
	var p place
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	switch {
	case err != nil || p.At < 0:
		return badRequest("next", "want "+tokenForm.want, "next cannot be read")
	case p.Of != a.identity():
		return badRequest("next", "ask with the parameters of the page before, or without next", "next is of another question")
	}
	since, until := time.Unix(p.Since, 0).UTC(), time.Unix(p.Until, 0).UTC()
	// The token is not secret: whoever makes one up may not look farther back than others, but a while for paging.
	if a.question.most > 0 && (since.Before(a.now.Add(-a.question.most-day)) || !since.Before(until)) {
		return badRequest("next", "ask again without next", "next is too old")
	}
	a.at, a.after = p.At, p.After
	if a.question.most > 0 {
		a.since, a.until = since, until
	}
	return nil
}

// page cuts the list to the page that was asked for; more is the token of the one after it, nil on the last.
func page[T any](a *asked, list []T) (part []T, more *string) {
	n, err := strconv.Atoi(a.text("limit"))
	if err != nil || n < 1 || n > maxLimit {
		n = defaultLimit
	}
	from := min(a.at, len(list))
	to := min(from+n, len(list))
	if to < len(list) {
		more = a.token(place{At: to})
	}
	return list[from:to], more
}
