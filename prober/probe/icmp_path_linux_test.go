package probe

import (
	"encoding/binary"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"

	"isochrone/prober/wire"
)

// path is a TUN device in the namespace of the calling thread: what is sent to the target comes
// out of it, and what answer returns goes in.
func path(t *testing.T, answer func(packet []byte) [][]byte) (end func()) {
	t.Helper()
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatalf("opening /dev/net/tun: %v", err)
	}
	device, err := unix.NewIfreq("path0")
	if err != nil {
		t.Fatal(err)
	}
	device.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, device); err != nil {
		t.Fatal(err)
	}
	link, err := netlink.LinkByName("path0")
	if err != nil {
		t.Fatal(err)
	}
	if err := netlink.LinkSetUp(link); err != nil { // first: addresses of IPv6 that come later are usable at once
		t.Fatal(err)
	}
	for _, a := range []string{"192.0.2.1/24", "2001:db8::1/64"} {
		address, err := netlink.ParseAddr(a)
		if err != nil {
			t.Fatal(err)
		}
		address.Flags = unix.IFA_F_NODAD
		if err := netlink.AddrAdd(link, address); err != nil {
			t.Fatal(err)
		}
	}
	usable(t, link)
	tun := os.NewFile(uintptr(fd), "path0")
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 2000)
		for {
			n, err := tun.Read(b)
			if err != nil {
				return
			}
			for _, a := range answer(slices.Clone(b[:n])) {
				if _, err := tun.Write(a); err != nil {
					t.Errorf("putting a packet of %d octets on the path: %v", len(a), err)
				}
			}
		}
	}()
	return func() {
		_ = tun.Close()
		<-done
	}
}

// usable waits until the kernel takes packets to the device's addresses.
func usable(t *testing.T, link netlink.Link) {
	t.Helper()
	for range 500 {
		addresses, err := netlink.AddrList(link, netlink.FAMILY_V6)
		if err != nil {
			t.Fatal(err)
		}
		tentative := slices.ContainsFunc(addresses, func(a netlink.Addr) bool {
			return a.IP.IsGlobalUnicast() && a.Flags&unix.IFA_F_TENTATIVE != 0
		})
		routes, err := netlink.RouteListFiltered(netlink.FAMILY_V6, &netlink.Route{LinkIndex: link.Attrs().Index, Table: unix.RT_TABLE_LOCAL}, netlink.RT_FILTER_OIF|netlink.RT_FILTER_TABLE)
		if err != nil {
			t.Fatal(err)
		}
		local := slices.ContainsFunc(routes, func(r netlink.Route) bool { return r.Dst != nil && r.Dst.String() == "2001:db8::1/128" })
		if !tentative && local {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the address of the device did not become usable in five seconds")
}

// headerBytes is the length of a packet's IP header, as the kernel makes them here.
func headerBytes(packet []byte) int {
	if packet[0]>>4 == 4 {
		return int(packet[0]&0xF) * 4
	}
	return 40
}

// isEcho says whether the packet is an echo request, and gives its sequence number.
func isEcho(packet []byte) (sequence int, ok bool) {
	h := headerBytes(packet)
	if len(packet) < h+8 || packet[0]>>4 == 6 && packet[6] != unix.IPPROTO_ICMPV6 {
		return 0, false
	}
	return int(binary.BigEndian.Uint16(packet[h+6:])), packet[h] == echoRequest4 || packet[h] == echoRequest6
}

// echoOf is the target's reply to a packet.
func echoOf(t *testing.T, packet []byte) []byte {
	h := headerBytes(packet)
	m, err := icmp.ParseMessage(protocolOf(packet), packet[h:])
	if err != nil {
		t.Error(err)
		return nil
	}
	m.Type = ipv4.ICMPTypeEchoReply
	if packet[0]>>4 == 6 {
		m.Type = ipv6.ICMPTypeEchoReply
	}
	return back(t, packet, destination(packet), m)
}

// errorOf is a router's error about a packet, of which it quotes so many octets after the header.
func errorOf(t *testing.T, packet []byte, router string, kind, code, quoted int) []byte {
	body := packet[:min(headerBytes(packet)+quoted, len(packet))]
	m := &icmp.Message{Code: code, Body: &icmp.RawBody{Data: append(make([]byte, 4), body...)}}
	if m.Type = icmp.Type(ipv4.ICMPType(kind)); packet[0]>>4 == 6 {
		m.Type = ipv6.ICMPType(kind)
	}
	return back(t, packet, netip.MustParseAddr(router), m)
}

func protocolOf(packet []byte) int {
	if packet[0]>>4 == 4 {
		return unix.IPPROTO_ICMP
	}
	return unix.IPPROTO_ICMPV6
}

func destination(packet []byte) netip.Addr {
	if packet[0]>>4 == 4 {
		return netip.AddrFrom4([4]byte(packet[16:]))
	}
	return netip.AddrFrom16([16]byte(packet[24:]))
}

// back is a packet with a message to the sender of another.
func back(t *testing.T, packet []byte, from netip.Addr, m *icmp.Message) []byte {
	if packet[0]>>4 == 4 {
		to := netip.AddrFrom4([4]byte(packet[12:]))
		b, err := m.Marshal(nil)
		if err != nil {
			t.Error(err)
		}
		h := ipv4.Header{Version: 4, Len: 20, TotalLen: 20 + len(b), TTL: 64, Protocol: unix.IPPROTO_ICMP, Src: from.AsSlice(), Dst: to.AsSlice()}
		head, err := h.Marshal()
		if err != nil {
			t.Error(err)
		}
		binary.BigEndian.PutUint16(head[10:], 0)
		sum := sum16(head)
		binary.BigEndian.PutUint16(head[10:], ^uint16(sum>>16+sum&0xFFFF))
		return append(head, b...)
	}
	to := netip.AddrFrom16([16]byte(packet[8:]))
	b, err := m.Marshal(icmp.IPv6PseudoHeader(from.AsSlice(), to.AsSlice()))
	if err != nil {
		t.Error(err)
	}
	head := make([]byte, 40)
	head[0], head[6], head[7] = 0x60, unix.IPPROTO_ICMPV6, 64
	binary.BigEndian.PutUint16(head[4:], uint16(len(b)))
	copy(head[8:], from.AsSlice())
	copy(head[24:], to.AsSlice())
	return append(head, b...)
}

// Routers' errors, and what else happens to packets, on a path that does exactly that.
func TestWhatHappensOnThePathIsTold(t *testing.T) {
	for _, c := range []struct {
		target, router      string
		unreachable, expiry int
	}{
		{"192.0.2.7", "192.0.2.254", 3, 11},
		{"2001:db8::7", "2001:db8::fe", 1, 3},
	} {
		for _, openTo := range []string{"0 2147483647", "1 0"} { // datagram sockets, then raw ones
			t.Run(c.target+" with groups "+openTo, func(t *testing.T) {
				apart(t, func() {
					if err := os.WriteFile("/proc/sys/net/ipv4/ping_group_range", []byte(openTo), 0); err != nil {
						t.Error(err)
					}
					var held []byte
					end := path(t, func(packet []byte) [][]byte {
						sequence, ok := isEcho(packet)
						if !ok {
							return nil
						}
						switch sequence {
						case 2: // lost
							return nil
						case 4: // a router quotes all of it
							return [][]byte{errorOf(t, packet, c.router, c.unreachable, 0, 1500)}
						case 5: // and as little as it may
							return [][]byte{errorOf(t, packet, c.router, c.expiry, 0, 8)}
						case 6: // another host's error, about another's packet
							other := slices.Clone(packet)
							other[headerBytes(other)+echoHeader]++
							return [][]byte{errorOf(t, other, c.router, c.unreachable, 0, 1500), echoOf(t, packet)}
						case 7: // an error, and the reply all the same
							return [][]byte{errorOf(t, packet, c.router, c.unreachable, 0, 1500), echoOf(t, packet)}
						case 8:
							return [][]byte{echoOf(t, packet), echoOf(t, packet), echoOf(t, packet)}
						case 9:
							held = echoOf(t, packet)
							return nil
						case 10:
							return [][]byte{echoOf(t, packet), held}
						}
						return [][]byte{echoOf(t, packet)}
					})
					defer end()
					req := icmpRequest(c.target, 19)
					req.Spec.Warmup, req.Spec.Timeout = 1, time.Second
					run := newTestProber().Make(t.Context(), req)
					valid(t, run)
					if n := run.Counts; n.Warmup != 1 || n.Sent != 19 || n.Received != 16 || n.Lost != 3 || n.Late != 0 || n.Duplicate != 2 || n.Reordered != 1 {
						t.Errorf("counts %+v", n)
					}
					want := make(wire.FailureColumn, 19)
					want[1], want[3], want[4] = wire.FailureTimeout, wire.FailureUnreachable, wire.FailureUnreachable
					if !slices.Equal(run.Samples.Failure, want) {
						t.Errorf("failures %q, want %q", run.Samples.Failure, want)
					}
					if run.Timestamps != wire.TimestampsKernel || !strings.Contains(run.Detail, "ICMP error") {
						t.Errorf("time stamps %q, detail %q", run.Timestamps, run.Detail)
					}
				})
			})
		}
	}
}

func TestEchoRepliesAfterTheTimeoutAreLate(t *testing.T) {
	apart(t, func() {
		var packets [][]byte
		end := path(t, func(packet []byte) [][]byte {
			sequence, ok := isEcho(packet)
			switch {
			case !ok:
				return nil
			case sequence == 3:
				packets = append(packets, echoOf(t, packet))
				return nil
			case sequence == 15: // 480 ms later
				return append(packets, echoOf(t, packet))
			}
			return [][]byte{echoOf(t, packet)}
		})
		defer end()
		req := icmpRequest("192.0.2.7", 20)
		req.Spec.Interval, req.Spec.Timeout = 40*time.Millisecond, 400*time.Millisecond
		run := newTestProber().Make(t.Context(), req)
		valid(t, run)
		if n := run.Counts; n.Received != 19 || n.Lost != 1 || n.Late != 1 || n.Reordered != 0 || n.Duplicate != 0 {
			t.Errorf("counts %+v; want one late", n)
		}
	})
}

// A closed loop goes on after a timeout, and at once after an error.
func TestAClosedLoopOfEchoesGoesOnWhenOneIsLost(t *testing.T) {
	apart(t, func() {
		end := path(t, func(packet []byte) [][]byte {
			switch sequence, ok := isEcho(packet); {
			case !ok || sequence == 2:
				return nil
			case sequence >= 5:
				return [][]byte{errorOf(t, packet, "192.0.2.254", 3, 1, 1500)}
			}
			return [][]byte{echoOf(t, packet)}
		})
		defer end()
		req := icmpRequest("192.0.2.7", 30)
		req.Spec.Interval, req.Spec.Timeout = 0, 400*time.Millisecond
		began := time.Now()
		run := newTestProber().Make(t.Context(), req)
		valid(t, run)
		if n := run.Counts; n.Sent != 30 || n.Received != 4 || run.Samples.Failure[2] != wire.FailureTimeout || run.Samples.Failure[29] != wire.FailureUnreachable {
			t.Errorf("counts %+v, failures %q", n, run.Samples.Failure)
		}
		if waited := time.Duration(run.Samples.SentNS[3] - run.Samples.SentNS[2]); waited < 400*time.Millisecond {
			t.Errorf("the sample after the lost one left after %s, want its timeout", waited)
		}
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("it took %s: 25 errors were waited for like losses", took)
		}
	})
}
