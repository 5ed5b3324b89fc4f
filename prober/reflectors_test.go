package main

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

func TestBothReflectorsHaveOnePortNumber(t *testing.T) {
	for range 20 {
		s, err := listen(t.Context(), "127.0.0.1:0", true, true)
		if err != nil {
			t.Fatal(err)
		}
		if tcp, udp := s.ports(); tcp != udp || tcp == 0 {
			t.Errorf("ports %d and %d", tcp, udp)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOneReflectorAlone(t *testing.T) {
	for _, c := range []struct{ tcp, udp bool }{{true, false}, {false, true}} {
		s, err := listen(t.Context(), "127.0.0.1:0", c.tcp, c.udp)
		if err != nil {
			t.Fatal(err)
		}
		if tcp, udp := s.ports(); (tcp != 0) != c.tcp || (udp != 0) != c.udp {
			t.Errorf("tcp %v, udp %v: ports %d and %d", c.tcp, c.udp, tcp, udp)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}

// A port that was asked for is not exchanged for another, and nothing stays open.
func TestAPortThatUDPCannotHaveIsAnError(t *testing.T) {
	taken, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(taken.LocalAddr().(*net.UDPAddr).Port))
	if _, err := listen(t.Context(), address, true, true); err == nil || !strings.Contains(err.Error(), address) {
		t.Fatalf("listening at %s, which is taken: %v", address, err)
	}
	again, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("the TCP socket was left open: %v", err)
	}
	_ = again.Close()
}
