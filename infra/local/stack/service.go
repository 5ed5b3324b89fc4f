package stack

import (
	"fmt"
	"net/http"
	"net/netip"
	"time"
)

// Service is an HTTP server in a node of the emulated network that is no prober's. The nodes of
// services come after those of the probers, in their order: with two probers the first service is
// the 13th host of every subnet, such as 10.90.0.13. Endpoints of sweep.yaml name it by that.
type Service struct {
	Name    string
	Paths   []string // on which it has an address
	Port    uint16
	Handler http.Handler
}

// serve serves on all addresses of the service's node.
func (s *Stack) serve(service Service) error {
	at := netip.AddrPortFrom(netip.IPv4Unspecified(), service.Port)
	l, err := s.WAN.Listen(service.Name, "tcp4", at)
	if err != nil {
		return fmt.Errorf("starting service %q: %w", service.Name, err)
	}
	server := &http.Server{Handler: service.Handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	s.services = append(s.services, server)
	go func() { _ = server.Serve(l) }() // until stopNetwork closes it
	return nil
}
