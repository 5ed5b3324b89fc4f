//go:build !windows

package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"isochrone/prober/wire"
)

func TestEveryErrnoHasItsFailureCode(t *testing.T) {
	want := map[syscall.Errno]wire.Failure{
		syscall.ECONNREFUSED: "refused",
		syscall.ECONNRESET:   "reset", syscall.ECONNABORTED: "reset", syscall.EPIPE: "reset",
		syscall.ENETUNREACH: "unreachable", syscall.EHOSTUNREACH: "unreachable",
		syscall.ENETDOWN: "unreachable", syscall.EHOSTDOWN: "unreachable",
		syscall.ETIMEDOUT: "timeout",
		syscall.EACCES:    "local", syscall.EPERM: "local", syscall.EMFILE: "local", syscall.ENFILE: "local",
		syscall.ENOBUFS: "local", syscall.ENOMEM: "local", syscall.EADDRNOTAVAIL: "local",
		syscall.EADDRINUSE: "local", syscall.EAFNOSUPPORT: "local",
	}
	for errno, code := range want {
		// As net.Dial and net.Conn wrap what the system said.
		err := fmt.Errorf("dialing: %w", &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)})
		if got := failureOf(err); got != code {
			t.Errorf("%v (%d): failure %q, want %q", errno, int(errno), got, code)
		}
	}
	for errno := range errnoFailures {
		if _, ok := want[errno]; !ok {
			t.Errorf("%v (%d) is mapped and not in this test", errno, int(errno))
		}
	}
	if got := failureOf(syscall.ENOTDIR); got != wire.FailureLocal {
		t.Errorf("an errno that nobody expects: failure %q, want local: the network is not to blame", got)
	}
}

func TestErrorsOfGoHaveTheirFailureCodes(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want wire.Failure
	}{
		{"none", nil, ""},
		{"deadline of the socket", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, wire.FailureTimeout},
		{"deadline of the context", context.DeadlineExceeded, wire.FailureTimeout},
		{"cancellation", fmt.Errorf("x: %w", context.Canceled), wire.FailureCanceled},
		{"end of stream", io.EOF, wire.FailureReset},
		{"end within a message", io.ErrUnexpectedEOF, wire.FailureReset},
		{"protocol", fmt.Errorf("%w: y", errProtocol), wire.FailureProtocol},
		{"closed in the handshake", fmt.Errorf("%w (%w)", errUnauthorized, io.EOF), wire.FailureUnauthorized},
		{"reset in the handshake", fmt.Errorf("%w (%w)", errUnauthorized, syscall.ECONNRESET), wire.FailureUnauthorized},
		{"unknown", errors.New("?"), wire.FailureLocal},
	} {
		if got := failureOf(c.err); got != c.want {
			t.Errorf("%s: failure %q, want %q", c.name, got, c.want)
		}
	}
}
