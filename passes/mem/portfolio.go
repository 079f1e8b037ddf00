package mem

// portfolio runs both searches in turns: neither solves all problems that the other one does, and no preference order
// suits all problems. What one run proves holds for all.
//
// The lengths of runs follow Luby's sequence, 1 1 2 1 1 2 4 …: most bad starts are left soon, and no run that would end
// is cut for ever. The search that has done less work has the next turn. Work is the number of blocks that were looked
// at, as a step of one search takes ten times as long as one of the other:
//
//	sequence   1000 steps, 8000 pairs
//	rise       4000 steps, 20000 blocks, which is less than riseSpeed*8000
//	rise       4000 steps, 21000 blocks, together 41000: more
//	sequence   1000 steps, …
type portfolio struct {
	use      Techniques
	sequence *search // nil where it is switched off
	rise     *rise   // nil where it is switched off, and where fixed blocks may keep others from falling
	halt     func() bool

	sequenceRuns, riseRuns int64
}

// sequenceUnit and riseUnit are the steps of the shortest runs.
const (
	sequenceUnit = 1000
	riseUnit     = 4000
	riseSpeed    = 4 // about how much work rise does in the time of a piece of the other search's
)

// found is the result of a portfolio.
type found struct {
	outcome
	offsets  []int64 // of the packing, if it is solved
	steps    int64   // that were spent
	restarts int64
}

func newPortfolio(in *instance, capacity int64, use Techniques, halt func() bool) *portfolio {
	f := &portfolio{use: use, halt: halt}
	if use.has(Sequence) || in.fixed {
		f.sequence = newSearch(in, capacity, use, halt)
	}
	if use.has(Rise) && !in.fixed {
		f.rise = newRise(in, capacity, use, halt)
	}
	return f
}

// run searches within a number of steps.
func (f *portfolio) run(steps int64) found {
	if f.sequence != nil && !f.sequence.start() {
		return found{outcome: failed}
	}
	total := found{outcome: stopped}
	if f.sequence == nil && f.rise == nil {
		return total
	}
	for total.steps < steps && !f.halt() {
		turn := f.turn(steps - total.steps)
		total.steps += turn.steps
		if turn.outcome != stopped {
			total.outcome, total.offsets = turn.outcome, turn.offsets
			break
		}
		total.restarts++
	}
	return total
}

// turn gives one of the searches its next turn, of no more than a number of steps.
func (f *portfolio) turn(most int64) found {
	if f.rise != nil && (f.sequence == nil || f.rise.work() < riseSpeed*f.sequence.work()) {
		return f.runRise(most)
	}
	return f.runSequence(most)
}

// runSequence gives the sequence search its next turn.
func (f *portfolio) runSequence(most int64) found {
	s := f.sequence
	f.sequenceRuns++
	before := s.effort.tried
	got, offsets := s.run(f.sequenceRuns, f.limit(sequenceUnit*luby(f.sequenceRuns), most))
	return found{outcome: got, offsets: offsets, steps: s.effort.tried - before}
}

// runRise gives the other search its next turn. Each preference order has its turn before runs grow. They grow faster
// than those of the sequence search, as most problems are solved by one of the orders as it is, or by none.
func (f *portfolio) runRise(most int64) found {
	r, orders := f.rise, int64(len(riseOrders))
	iteration, order := f.riseRuns/orders+1, f.riseRuns%orders
	f.riseRuns++
	before, length := r.effort.tried, luby(iteration)
	got, offsets := r.run(order, iteration, f.limit(riseUnit*length*length, most))
	return found{outcome: got, offsets: offsets, steps: r.effort.tried - before}
}

// limit returns the length of a run.
func (f *portfolio) limit(steps, most int64) int64 {
	if !f.use.has(Restart) {
		return most
	}
	return min(steps, most)
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
