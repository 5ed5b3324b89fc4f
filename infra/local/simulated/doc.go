// Package simulated stands in for probers where the app alone is of interest: it makes the documents that
// probers would send, without sending a packet, and moves them as probers do.
//
//	p, err := simulated.Open(account, config, "westeurope", seed) // a prober of a configuration
//	p.Register(ctx, time.Now())                        // at start, and again as a heartbeat
//	assignments, err := p.Poll(ctx)                    // what the app gave it since the last call
//	d, err := p.Measure(assignments[0])                // its document, packed
//	err = p.Deliver(ctx, d)                            // into the inbox
//
// OpenAll makes all probers of a configuration. Without storage, Document is the document of an assignment, Run a
// single run, and Encode what travels. An assignment of a plan, as its source reads it, is in
// plan.Current(environment, source, plans, now).Assignments.
//
// The same seed and assignment give the same document, byte for byte, in whatever order they are asked
// for. A pair of probers has a round trip of its own on each path, from 2 to 250 ms, the same in both
// directions and for every seed; around it samples are late as they are on networks, and a few are lost
// (Loss). Times lie in the future where the assignment's do: nothing waits for them.
//
// Latency kinds only; the runs of others are as of a prober that does not know the kind.
package simulated
