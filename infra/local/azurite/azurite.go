// Package azurite starts and stops Azurite, the storage emulator, as a child process on free
// ports of 127.0.0.1.
//
// Azurite writes its state every five seconds: killing it loses what it acknowledged last, so
// Stop ends it with SIGTERM and waits.
package azurite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"

	"isochrone/infra/local/child"
	"isochrone/prober/wire/account"
)

// Script is where npm puts Azurite's server, below the repository's root.
const Script = "infra/local/node_modules/azurite/dist/src/azurite.js"

// Azurite's well-known development account. The key is published by Microsoft and opens nothing
// else.
const (
	AccountName = "devstoreaccount1"
	accountKey  = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// Options says where Azurite is and where it keeps its data.
type Options struct {
	Root     string    // the repository's root
	Location string    // folder for its data; it must exist
	Log      io.Writer // its own output; nil discards it

	// Cert and Key are PEM files. With them the services speak https and take bearer tokens too,
	// of which Azurite checks issuer, audience and times, but no signature.
	Cert, Key string
}

// Server is a running Azurite.
type Server struct {
	BlobURL  string // of the account, without a slash at the end
	TableURL string

	cmd    *exec.Cmd
	exited chan struct{}
	stop   sync.Once
}

var listening = regexp.MustCompile(`Azurite (Blob|Queue|Table) service is successfully listening at (https?://127\.0\.0\.1:\d+)`)

// Start starts Azurite and returns once it answers, or when ctx ends.
func Start(ctx context.Context, o Options) (*Server, error) {
	script := filepath.Join(o.Root, Script)
	if _, err := os.Stat(script); err != nil {
		return nil, fmt.Errorf("finding Azurite: %w (make deps installs it)", err)
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	// The script itself and not a launcher, so that the pid is the server's. Nothing but its
	// own environment reaches it: it needs none of our settings.
	args := []string{script, "--location", o.Location, "--blobPort", "0", "--queuePort", "0", "--tablePort", "0", "--silent", "--disableTelemetry"}
	if o.Cert != "" {
		args = append(args, "--cert", o.Cert, "--key", o.Key, "--oauth", "basic")
	}
	cmd := exec.Command("node", args...)
	pr, pw := io.Pipe()
	cmd.Stdout, cmd.Stderr = pw, pw
	s := &Server{cmd: cmd, exited: make(chan struct{})}
	if err := child.Start(cmd, func() { _ = pw.Close(); close(s.exited) }); err != nil {
		return nil, fmt.Errorf("starting Azurite: %w", err)
	}
	ready := make(chan struct{})
	go s.read(pr, o.Log, ready)
	select {
	case <-ready:
		return s, nil
	case <-s.exited:
		return nil, errors.New("starting Azurite: it ended before it was ready (its log says why)")
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("starting Azurite: %w", ctx.Err()), s.Stop())
	}
}

func (s *Server) read(from io.Reader, log io.Writer, ready chan<- struct{}) {
	seen := map[string]string{}
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		_, _ = fmt.Fprintln(log, lines.Text())
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			seen[m[1]] = m[2]
			if len(seen) == 3 {
				s.BlobURL = seen["Blob"] + "/" + AccountName
				s.TableURL = seen["Table"] + "/" + AccountName
				close(ready)
			}
		}
	}
	_, _ = io.Copy(io.Discard, from) // a line too long for the scanner must not block Azurite
}

// Account is how the programs reach this server.
func (s *Server) Account() account.Account {
	return account.Account{ConnectionString: "DefaultEndpointsProtocol=http;AccountName=" + AccountName + ";AccountKey=" + accountKey +
		";BlobEndpoint=" + s.BlobURL + ";TableEndpoint=" + s.TableURL + ";"}
}

// PID is the server's process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Exited is closed when the server has ended, for whatever reason.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// Stop ends the server and waits for it. It may be called more than once.
func (s *Server) Stop() (err error) {
	s.stop.Do(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-s.exited:
		case <-time.After(20 * time.Second):
			_ = s.cmd.Process.Kill()
			<-s.exited
			err = errors.New("stopping Azurite: it did not end within 20 s and was killed")
		}
	})
	return err
}
