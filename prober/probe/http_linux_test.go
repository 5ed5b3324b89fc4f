package probe

import (
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"isochrone/prober/wire"
)

// A connection stands when the target's kernel takes it. Here its queue is full for a while, and
// the kernel repeats a SYN after a second.
func TestTheConnectPhaseIsTheHandshakes(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "listener")
	defer file.Close() // the listener below has its own
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	l, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	filled, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	time.AfterFunc(300*time.Millisecond, func() {
		defer close(done)
		_ = server.Serve(l)
	})
	req := httpRequest("http://"+l.Addr().String(), wire.ConnectionFresh, 1)
	req.Spec.Timeout = 20 * time.Second
	run := newTestProber().Make(t.Context(), req)
	_ = filled.Close()
	_ = server.Close()
	<-done
	answered(t, run, 1)
	if s := run.Samples; s.ConnectNS[0] < int64(250*time.Millisecond) || s.RTTNS[0] < s.ConnectNS[0]+s.FirstByteNS[0] || s.FirstByteNS[0] > s.ConnectNS[0] {
		t.Errorf("connecting took %s, the first byte %s, all %s; want most of it in the first", time.Duration(s.ConnectNS[0]), time.Duration(s.FirstByteNS[0]), time.Duration(s.RTTNS[0]))
	}
}

func TestTheKernelsWordOnTheKeptConnectionIsInTheResult(t *testing.T) {
	for _, secured := range []bool{false, true} {
		w := serve(t, secured, 0, func(http.ResponseWriter, *http.Request) {})
		run := trusting(w, nil).Make(t.Context(), httpRequest(w.URL, wire.ConnectionKeepAlive, 10))
		answered(t, run, 10)
		if run.TCPInfo == nil || run.TCPInfo.MinRTTUS <= 0 || run.TCPInfo.MinRTTUS > 1_000_000 {
			t.Errorf("TLS %v: TCP_INFO %+v", secured, run.TCPInfo)
		}
	}
}

// Whatever a target does, nothing of a run is left when it has ended.
func TestAnHTTPRunLeavesNothingBehind(t *testing.T) {
	silent := silentServer(t)
	cut := speaks(t, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort")
	for _, url := range []string{"https://" + silent, "http://" + silent, "http://" + cut, "https://" + cut, "http://" + silentAddress(t)} {
		for _, connection := range []string{wire.ConnectionFresh, wire.ConnectionKeepAlive} {
			req := httpRequest(url, connection, 10)
			req.Spec.Timeout, req.Spec.Warmup = 100*time.Millisecond, 1
			if run := newTestProber().Make(t.Context(), req); run.Counts.Received != 0 || run.Counts.Sent != 10 {
				t.Errorf("%s, %s: counts %+v, want none received", url, connection, run.Counts)
			}
		}
	}
	var left string
	for range 500 { // goroutines of net/http end soon after
		stacks := make([]byte, 1<<20)
		left = string(stacks[:runtime.Stack(stacks, true)])
		if !strings.Contains(left, "(*httpClient)") && !strings.Contains(left, "http.(*persistConn)") && !strings.Contains(left, "http.(*Transport)") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("after five seconds there are still goroutines of the runs:\n%s", left)
}
