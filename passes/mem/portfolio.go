package mem

// portfolio runs both searches in turns: neither solves all problems that the other one
// does, and no order of preference suits all. What one run proves holds for all.
type portfolio struct {
	use      Techniques
	sequence *search // nil where it is switched off
	rise     *rise   // likewise, and where fixed blocks may hinder others to fall

	sequenceRuns, riseRuns int64

	halt     func() bool
	steps    int64 // left
	restarts int64
	offsets  []int64 // of the packing, once it is found
}

// sequenceUnit and riseUnit are the steps of the shortest runs. Runs follow Luby's sequence (1 1 2 1 1 2 4 …): most bad starts are
// left soon, and no run that would end is cut for ever.
const (
	sequenceUnit = 1000
	riseUnit     = 4000
	riseSpeed    = 4 // rise's work in the time of a piece of the other search's, about
)

func newPortfolio(in *instance, capacity int64, use Techniques, halt func() bool) *portfolio {
	f := &portfolio{use: use, halt: halt}
	if use.has(Sequence) || in.fixed {
		f.sequence = newSearch(in, capacity, use)
		f.sequence.halt = halt
	}
	if use.has(Rise) && !in.fixed {
		f.rise = newRise(in, capacity, use)
		f.rise.halt = halt
	}
	return f
}

// run searches within a number of steps. The search that has done less work has the next
// turn.
func (f *portfolio) run(steps int64) outcome {
	f.steps = steps
	if f.sequence != nil && !f.sequence.start() {
		return failed
	}
	for f.steps > 0 && !f.halt() {
		var got outcome
		switch {
		case f.rise != nil && (f.sequence == nil || f.rise.work < riseSpeed*f.sequence.work):
			got = f.runRise()
		case f.sequence != nil:
			got = f.runSequence()
		default:
			return stopped
		}
		if got != stopped {
			return got
		}
		f.restarts++
	}
	return stopped
}

// runSequence gives the sequence search its next turn.
func (f *portfolio) runSequence() outcome {
	s := f.sequence
	f.sequenceRuns++
	before := s.tried
	got := s.run(f.sequenceRuns, f.limit(sequenceUnit*luby(f.sequenceRuns)))
	f.steps -= s.tried - before
	if got == solved {
		f.offsets = s.low
	}
	return got
}

// runRise gives the other one its next turn. Each order of preference has its turn before
// runs grow; they grow faster than those of the sequence search, as most problems are
// solved by one of the orders as it is, or by none.
func (f *portfolio) runRise() outcome {
	r, orders := f.rise, int64(len(riseOrders))
	round, order := f.riseRuns/orders+1, f.riseRuns%orders
	f.riseRuns++
	before := r.tried
	length := luby(round)
	got := r.run(order, round, f.limit(riseUnit*length*length))
	f.steps -= r.tried - before
	if got == solved {
		f.offsets = r.offset
	}
	return got
}

// limit returns the length of a run.
func (f *portfolio) limit(steps int64) int64 {
	if !f.use.has(Restart) {
		return f.steps
	}
	return min(steps, f.steps)
}

// luby returns the k-th number of Luby's sequence, from 1.
func luby(k int64) int64 {
	for p := int64(1); ; p = 2*p + 1 {
		if k == p {
			return (p + 1) / 2
		}
		if k < 2*p+1 {
			return luby(k - p)
		}
	}
}
