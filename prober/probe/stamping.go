package probe

import "isochrone/prober/wire"

// patience is how many replies may come without one departure stamp before the kernel is taken
// to give none; until then each is asked after.
const patience = 8

// stamping counts by which clock a run's replies were measured, where the kernel may stamp what
// leaves and what comes. Each is the first to its sample and in time.
type stamping struct {
	told, untold int // of all: with a departure stamp, and without

	// Of measured samples, which are never in the warm-up.
	kernel    int // by the kernel's stamps
	set       int // the kernel stamped them, but this machine's clock or the target's was set meanwhile
	unstamped int // a stamp did not come, or cannot be this sample's
}

// asks says whether it is worth a system call to ask after a departure stamp that has not come.
func (s *stamping) asks() bool { return s.told > 0 || s.untold < patience }

// departed counts a reply by whether the departure of its request was told.
func (s *stamping) departed(told bool) {
	if told {
		s.told++
	} else {
		s.untold++
	}
}

// count counts a reply by whether the kernel stamped it and its request, and a clock was set meanwhile.
func (s *stamping) count(measured, stamped, set bool) {
	switch {
	case !measured:
	case !stamped:
		s.unstamped++
	case set:
		s.set++
	default:
		s.kernel++
	}
}

// byKernel says whether the run as a whole is by the kernel's clock. It is not where more than half
// of its round trips are by the user's.
func (s *stamping) byKernel() bool { return s.kernel > 0 && s.kernel >= s.set+s.unstamped }

// tell writes into the result by which clock the run is.
func (s *stamping) tell(run *wire.Run) {
	if run.Timestamps = wire.TimestampsUser; s.byKernel() {
		run.Timestamps = wire.TimestampsKernel
	}
	if s.kernel+s.set > 0 {
		set, unstamped := s.set, s.unstamped
		run.ClockSteps, run.Unstamped = &set, &unstamped
	}
}

// toUserClock adds to a round trip by the kernel's clock what that left out of it.
func (s *sample) toUserClock() {
	if s.rtt != notYet && s.client != notYet {
		s.rtt += s.client
	}
}
