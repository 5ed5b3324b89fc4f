//go:build !linux

package probe

// alone is not to be had here: package net waits as well as it can.
func (*flight) alone() traffic { return nil }
