//go:build !windows

package probe

import (
	"syscall"

	"isochrone/prober/wire"
)

var errnoFailures = map[syscall.Errno]wire.Failure{
	syscall.ECONNREFUSED: wire.FailureRefused,
	syscall.ECONNRESET:   wire.FailureReset,
	syscall.ECONNABORTED: wire.FailureReset,
	syscall.EPIPE:        wire.FailureReset,
	syscall.ENETUNREACH:  wire.FailureUnreachable,
	syscall.EHOSTUNREACH: wire.FailureUnreachable,
	syscall.ENETDOWN:     wire.FailureUnreachable,
	syscall.EHOSTDOWN:    wire.FailureUnreachable,
	syscall.ETIMEDOUT:    wire.FailureTimeout,
	// EACCES and EPERM are a local firewall's rule, or a broadcast address (connect(2)).
	syscall.EACCES:        wire.FailureLocal,
	syscall.EPERM:         wire.FailureLocal,
	syscall.EMFILE:        wire.FailureLocal,
	syscall.ENFILE:        wire.FailureLocal,
	syscall.ENOBUFS:       wire.FailureLocal,
	syscall.ENOMEM:        wire.FailureLocal,
	syscall.EADDRNOTAVAIL: wire.FailureLocal, // no port was left
	syscall.EADDRINUSE:    wire.FailureLocal,
	syscall.EAFNOSUPPORT:  wire.FailureLocal, // no IPv6 on this machine
}
