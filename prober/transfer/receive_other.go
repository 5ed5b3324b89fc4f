//go:build !linux

package transfer

import "net"

// bareDiscarder reads as package net does.
type bareDiscarder struct {
	conn *net.TCPConn
	to   []byte
}

func discarderOf(conn *net.TCPConn) (discarder, error) {
	return &bareDiscarder{conn, make([]byte, 256<<10)}, nil
}

func (d *bareDiscarder) discard(n int) (int, error) { return d.conn.Read(d.to[:min(n, len(d.to))]) }
