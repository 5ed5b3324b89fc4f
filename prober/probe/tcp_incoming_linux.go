package probe

import (
	"io"
	"net"
	"os"
	"syscall"

	"isochrone/prober/socket"
)

// stampedIncoming reads with the kernel's time stamps, and waits in the runtime's poller.
type stampedIncoming struct {
	raw      syscall.RawConn
	receiver *socket.Receiver
	receive  func(fd uintptr) (done bool) // made once, so that reading allocates nothing
	b        []byte
	packet   socket.Packet
	err      error
}

// incomingOf reports whether the kernel stamps what the connection receives, from now on.
func incomingOf(conn *net.TCPConn) (in incoming, stamped bool) {
	raw, err := conn.SyscallConn()
	if err != nil || socket.Set(raw, socket.Options{Arrivals: true}) != nil {
		return bareIncoming{conn}, false
	}
	s := &stampedIncoming{raw: raw, receiver: socket.NewReceiver()}
	s.receive = func(fd uintptr) bool {
		s.err = s.receiver.Receive(fd, s.b, &s.packet)
		return s.err != socket.ErrWait //nolint:errorlint // it is returned as it is
	}
	return s, true
}

func (s *stampedIncoming) Read(b []byte) (n int, stamp int64, err error) {
	s.b, s.packet = b, socket.Packet{}
	if err := s.raw.Read(s.receive); err != nil {
		return 0, 0, err
	}
	switch {
	case s.err != nil:
		return 0, 0, os.NewSyscallError("recvmsg", s.err)
	case s.packet.Bytes == 0:
		return 0, 0, io.EOF
	}
	return s.packet.Bytes, s.packet.At, nil
}
