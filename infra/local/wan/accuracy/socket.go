package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"isochrone/infra/local/wan"
)

// socket is a UDP socket whose datagrams the kernel stamps, both ways.
type socket struct {
	fd      int
	address netip.AddrPort
}

const port = 7000

func open(w *wan.WAN, node string) (s *socket, err error) {
	at := netip.AddrPortFrom(w.Address(node, path), port)
	return s, w.Do(node, func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("opening a socket: %w", err)
		}
		const stamps = unix.SOF_TIMESTAMPING_SOFTWARE | unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_TX_SOFTWARE | unix.SOF_TIMESTAMPING_OPT_TSONLY
		s = &socket{fd, at}
		return errors.Join(
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stamps),
			unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 5}),
			unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: at.Addr().As4()}))
	})
}

func (s *socket) close() { _ = unix.Close(s.fd) }

// send returns the kernel's stamp of the datagram's leaving, ns since 1970.
func (s *socket) send(to netip.AddrPort, body []byte) (int64, error) {
	if err := unix.Sendto(s.fd, body, 0, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
		return 0, fmt.Errorf("sending: %w", err)
	}
	for until := time.Now().Add(time.Second); ; {
		_, at, err := s.read(nil, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		if err == nil || !errors.Is(err, unix.EAGAIN) || time.Now().After(until) {
			return at, err
		}
	}
}

// read returns a datagram and its stamp, ns since 1970.
func (s *socket) read(body []byte, flags int) (int, int64, error) {
	var control [256]byte
	for {
		n, oob, _, _, err := unix.Recvmsg(s.fd, body, control[:], flags)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, 0, fmt.Errorf("receiving: %w", err)
		}
		messages, err := unix.ParseSocketControlMessage(control[:oob])
		if err != nil {
			return 0, 0, fmt.Errorf("reading a time stamp: %w", err)
		}
		for _, m := range messages {
			if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPING {
				return n, (*unix.Timespec)(unsafe.Pointer(&m.Data[0])).Nano(), nil
			}
		}
		return 0, 0, errors.New("a datagram has no time stamp")
	}
}

// exchange sends datagrams on a schedule and returns their round trips without the far side's
// dwell: (T4 − T1) − (T3 − T2), ns.
func exchange(near, far *socket, count int, interval time.Duration) ([]int64, error) {
	rounds, dwell := make([]int64, count), make([]int64, count)
	var work sync.WaitGroup
	var echoed, received error
	work.Go(func() { echoed = echo(far, near.address, dwell) })
	left := make([]int64, count)
	arrived := make([]int64, count)
	work.Go(func() {
		body := make([]byte, 64)
		for range count {
			n, at, err := near.read(body, 0)
			if err != nil || n < 8 {
				received = err
				return
			}
			arrived[binary.BigEndian.Uint64(body)] = at
		}
	})
	began := time.Now()
	body := make([]byte, 64)
	var sent error
	for i := range count {
		time.Sleep(time.Until(began.Add(time.Duration(i) * interval)))
		binary.BigEndian.PutUint64(body, uint64(i))
		if left[i], sent = near.send(far.address, body); sent != nil {
			break
		}
	}
	work.Wait()
	for i := range rounds {
		rounds[i] = arrived[i] - left[i] - dwell[i]
	}
	return rounds, errors.Join(echoed, received, sent)
}

func echo(s *socket, to netip.AddrPort, dwell []int64) error {
	body := make([]byte, 64)
	for range dwell {
		n, in, err := s.read(body, 0)
		if err != nil {
			return err
		}
		out, err := s.send(to, body[:n])
		if err != nil {
			return err
		}
		dwell[binary.BigEndian.Uint64(body)] = out - in
	}
	return nil
}
