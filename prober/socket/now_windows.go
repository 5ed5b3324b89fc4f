package socket

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Now is the time, wall clock and monotonic, to 100 ns. time.Now is what the last timer interrupt
// left, which comes every 0.5 to 15.6 ms. Both tell the system's interrupt time, so what is added
// here is what has passed since then. Where the system does not have the precise reading (it is new
// with Windows 10) it is time.Now.
func Now() time.Time {
	if !precise.known {
		return time.Now()
	}
	for {
		tick := read(precise.ticked)
		now := time.Now()
		if read(precise.ticked) == tick { // else now may belong to either
			return now.Add(time.Duration(max(int64(read(precise.exact))-int64(tick), 0)) * interruptUnit)
		}
	}
}

// interruptUnit is what interrupt time is counted in.
const interruptUnit = 100 * time.Nanosecond

var precise = findPrecise()

// interruptClock holds the addresses of QueryInterruptTime, of the last interrupt, and of
// QueryInterruptTimePrecise.
type interruptClock struct {
	ticked, exact uintptr
	known         bool
}

func findPrecise() interruptClock {
	for _, name := range []string{"kernelbase.dll", "api-ms-win-core-realtime-l1-1-1.dll"} {
		library := windows.NewLazySystemDLL(name)
		ticked, exact := library.NewProc("QueryInterruptTime"), library.NewProc("QueryInterruptTimePrecise")
		if ticked.Find() == nil && exact.Find() == nil {
			return interruptClock{ticked: ticked.Addr(), exact: exact.Addr(), known: true}
		}
	}
	return interruptClock{}
}

func read(query uintptr) uint64 {
	var units uint64
	_, _, _ = syscall.SyscallN(query, uintptr(unsafe.Pointer(&units))) // returns nothing, and cannot fail
	return units
}
