package runtime

import (
	"math/bits"
	"time"
)

// pace decides at run time how many workers run a step. The compiler cannot know what else runs on the machine, and
// in two cases more workers make a step slower.
//
// A short step: a barrier costs 0.1 µs if two workers have two processors to themselves, and 100 µs if they share one
// with other processes. A step of 20 µs then takes 1 ms. The choice is between all workers and one.
//
// A disturbed step: if another process uses one of the processors, all workers wait at every barrier for the one that
// shares it, which the system runs in time slices of some milliseconds. Two workers then need twice as long for a
// token. One worker alone is faster, as its reads use most of the bandwidth anyway. Fewer workers are tried, one less
// at a time. Once that has helped, more workers are tried again from time to time.
//
// pace measures, and keeps the faster number. It limits the time lost by trials to a share of all time, 1/share. For
// example, steps take 8 ms on the 2 workers in use, and a trial with 1 worker takes 11 ms. While share is 64, the next
// trial is due 64*8 ms later.
//
// Results do not depend on the number of workers; only time does.
type pace struct {
	n, use    int           // workers of the pool, and workers in use
	took      time.Duration // recent duration of a step on use workers; 0: unknown
	short     bool          // one worker would be done within longStep
	disturbed int           // consecutive steps on use workers that lost much time by waiting
	below     int           // how many workers fewer than use to try next
	share     time.Duration // inverse of the share of time that trials may lose at present
	retry     time.Duration // earliest time of the next trial, since processStart
}

const (
	// longStep is the duration from which on the cost of a barrier does not matter. With that much work, several
	// workers win whenever there are processors for them, and a trial would be expensive.
	longStep = time.Millisecond

	// trialShare is the inverse of the share of time that trials may lose in the long run. crowdShare is that of
	// trials with more workers after fewer have been faster: other processes come and go, and 64 steps with too few
	// workers lose more than trials do. firstShare applies to a new choice, which is checked sooner: the first trials
	// may lose a quarter of the time, and each one that confirms the choice halves that.
	trialShare, crowdShare, firstShare = 64, 16, 4

	// lostShare is the inverse of the share of the workers' total time above which waiting counts as a disturbance.
	// Undisturbed steps lose 3 to 10 %. Two workers, one of which has its processor half of the time, lose 25 % or
	// more.
	lostShare = 5

	// disturbedSteps is the number of consecutive disturbed steps after which fewer workers are tried. A few in a row
	// occur on any machine.
	disturbedSteps = 6
)

// paces holds the choices of one function, by the order of magnitude of its first symbol: in a language model, the
// number of tokens of the step.
type paces [16]pace

func (p *paces) of(a *Args) *pace { return &p[min(bits.Len(uint(a.Dims[0])), len(p)-1)] }

// parts returns how many of n workers run the step that begins now.
func (c *pace) parts(n int, now time.Duration) int {
	if c.n != n {
		*c = pace{n: n, use: n, below: 1, share: firstShare}
	}
	if c.took == 0 || now < c.retry {
		return c.use
	}
	return c.other()
}

// other returns the number of workers to try, or use if there is no reason to try another number.
func (c *pace) other() int {
	switch {
	case c.short && c.use > 1:
		return 1
	case c.short:
		return c.n
	case c.disturbed >= disturbedSteps && c.use > c.below:
		return c.use - c.below
	case c.use < c.n: // processors used by other processes may be free again
		return c.use + 1
	}
	return c.use
}

// spin returns how long workers of the step poll a word before they park: longer if the last step was undisturbed.
func (c *pace) spin() time.Duration {
	if c.disturbed == 0 && c.use == c.n {
		return calmSpin
	}
	return spinTime
}

// pacedStep is a measured step.
type pacedStep struct {
	parts int // workers
	took  time.Duration
	lost  bool          // much time was lost by waiting
	end   time.Duration // since processStart
}

// note records the step that ends now. waited is the time that all its workers together waited at barriers.
func (c *pace) note(parts int, took, waited, now time.Duration) {
	s := pacedStep{parts: parts, took: took, lost: waited > took*time.Duration(parts)/lostShare, end: now}
	if parts == c.use {
		c.noteUsual(s)
	} else {
		c.noteTrial(s)
	}
	c.short = took*time.Duration(parts)-waited < longStep
}

// noteUsual records a step on use workers. When a disturbance begins or ends, durations measured before it do not
// count any more.
func (c *pace) noteUsual(s pacedStep) {
	if s.lost != (c.disturbed > 0) && !c.short {
		c.took = 0
	}
	if c.disturbed++; !s.lost {
		c.disturbed = 0
	}
	if c.disturbed == disturbedSteps {
		c.retry, c.below = s.end, 1
	}
	c.took = blend(c.took, s.took)
}

// noteTrial records a step on another number of workers and adopts that number if it was faster. If fewer workers
// wait for each other too, still fewer are tried at once, down to half.
func (c *pace) noteTrial(s pacedStep) {
	best := min(c.took, s.took)
	switch {
	case s.took < c.took:
		c.use, c.took, c.disturbed, c.below, c.share = s.parts, s.took, 0, 1, firstShare
		if s.lost {
			c.disturbed = disturbedSteps
		}
	case s.parts < c.use && s.lost && s.parts-1 >= max(1, c.use/2):
		c.below++
		return
	default:
		c.below, c.share = 1, 2*c.share
	}
	c.share = min(c.share, c.mostShare())
	c.retry = s.end + c.share*max(s.took-best, best)
}

// mostShare returns the limit up to which share grows.
func (c *pace) mostShare() time.Duration {
	if !c.short && c.use < c.n {
		return crowdShare
	}
	return trialShare
}

// blend averages a new duration with the previous ones. It follows recent durations quickly, since a trial is a
// single measurement.
func blend(old, now time.Duration) time.Duration {
	if old == 0 {
		return now
	}
	return (old + now) / 2
}
