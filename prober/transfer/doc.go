// Package transfer moves a bulk run's payload over TCP connections, as fast as they take it or at a
// rate, and counts what arrives. Both ends use it: probe and reflect agree by their own protocol on
// when it begins and ends.
//
// Nothing here sets SO_SNDBUF or SO_RCVBUF: that would turn the kernel's own sizing off (tcp(7)), and
// with it the throughput of long paths.
package transfer
