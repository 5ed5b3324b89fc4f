package probe

import (
	"syscall"

	"golang.org/x/sys/windows"

	"isochrone/prober/wire"
)

// Windows sockets have numbers of their own; syscall's E names are not what they return.
var errnoFailures = map[syscall.Errno]wire.Failure{
	windows.WSAECONNREFUSED:  wire.FailureRefused,
	windows.WSAECONNRESET:    wire.FailureReset,
	windows.WSAECONNABORTED:  wire.FailureReset,
	windows.WSAESHUTDOWN:     wire.FailureReset,
	windows.WSAENETUNREACH:   wire.FailureUnreachable,
	windows.WSAEHOSTUNREACH:  wire.FailureUnreachable,
	windows.WSAENETDOWN:      wire.FailureUnreachable,
	windows.WSAEHOSTDOWN:     wire.FailureUnreachable,
	windows.WSAETIMEDOUT:     wire.FailureTimeout,
	windows.WSAEACCES:        wire.FailureLocal,
	windows.WSAEMFILE:        wire.FailureLocal,
	windows.WSAENOBUFS:       wire.FailureLocal,
	windows.WSAEADDRNOTAVAIL: wire.FailureLocal,
	windows.WSAEADDRINUSE:    wire.FailureLocal,
	windows.WSAEAFNOSUPPORT:  wire.FailureLocal,
}
