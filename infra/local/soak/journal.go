package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// finished is a line of a prober's journal: a document that its spool has taken.
type finished struct {
	Name       string    `json:"name"` // in the inbox
	Source     string    `json:"source"`
	Slot       time.Time `json:"slot"`
	Assignment string    `json:"assignment"`
	SHA256     string    `json:"sha256"`
	Samples    int       `json:"samples"`
	Sent       int       `json:"sent"`
}

func sum(body []byte) string {
	s := sha256.Sum256(body)
	return hex.EncodeToString(s[:])
}

// journal is what a prober says of itself beyond all storage: its lines are on the disk before it goes on.
type journal struct{ file *os.File }

func openJournal(name string) (*journal, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	// The process before may have ended in the middle of a line.
	if _, err := f.WriteString("\n"); err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	return &journal{f}, nil
}

func (j *journal) add(f finished) error {
	line, err := json.Marshal(f)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	if err := errors.Join(err, j.file.Sync()); err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	return nil
}

// readJournal reads the whole lines of a journal. One that its writer did not finish is left out: it was
// killed before it went on.
func readJournal(name string) (out []finished, err error) {
	body, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(body)); lines.Scan(); {
		var f finished
		if json.Unmarshal(lines.Bytes(), &f) == nil {
			out = append(out, f)
		}
	}
	return out, nil
}
