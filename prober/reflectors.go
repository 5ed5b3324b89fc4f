package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"isochrone/prober/reflect"
)

// sockets are where a reflector is reached. A kind that is not served has none.
type sockets struct {
	tcp *net.TCPListener
	udp *net.UDPConn
}

// freePortTries is how often a port that is free for both TCP and UDP is looked for.
const freePortTries = 20

// listen opens both sockets at one address and port number, so that one rule in a firewall names
// both. Port 0 is any that is free for both.
func listen(ctx context.Context, address string, tcp, udp bool) (sockets, error) {
	if !tcp {
		conn, err := reflect.ListenUDP(ctx, address)
		return sockets{udp: conn}, err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return sockets{}, fmt.Errorf("listening on %q: %w", address, err)
	}
	for tries := 1; ; tries++ {
		listener, err := reflect.Listen(ctx, address)
		if err != nil || !udp {
			return sockets{tcp: listener}, err
		}
		number := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
		conn, err := reflect.ListenUDP(ctx, net.JoinHostPort(host, number))
		if err == nil {
			return sockets{tcp: listener, udp: conn}, nil
		}
		err = errors.Join(err, listener.Close())
		if n, bad := strconv.Atoi(port); bad != nil || n != 0 || tries == freePortTries {
			return sockets{}, err
		}
	}
}

// close closes what is open. Those who serve a socket close it themselves.
func (s sockets) close() error {
	var faults []error
	if s.tcp != nil {
		faults = append(faults, s.tcp.Close())
	}
	if s.udp != nil {
		faults = append(faults, s.udp.Close())
	}
	return errors.Join(faults...)
}

// serve has the reflector serve what is open until ctx ends, or one of the sockets breaks.
func (s sockets) serve(r *reflect.Reflector) (tasks []task) {
	if s.tcp != nil {
		tasks = append(tasks, func(ctx context.Context) error { return r.Serve(ctx, s.tcp) })
	}
	if s.udp != nil {
		tasks = append(tasks, func(ctx context.Context) error { return r.ServeUDP(ctx, s.udp) })
	}
	return tasks
}

// ports are the port numbers that are served, 0 where there is none.
func (s sockets) ports() (tcp, udp int) {
	if s.tcp != nil {
		tcp = s.tcp.Addr().(*net.TCPAddr).Port
	}
	if s.udp != nil {
		udp = s.udp.LocalAddr().(*net.UDPAddr).Port
	}
	return tcp, udp
}
