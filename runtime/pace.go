package runtime

import (
	"math/bits"
	"time"
)

// pace decides at run time whether a short step is better done by one worker or by as
// many as the compiler thought worth it. The compiler cannot know what else runs on the
// machine: where two workers have two processors for themselves a barrier costs 0.1 µs,
// where they share one with others it costs 100 µs, and a step of 20 µs with it becomes
// one of 1 ms. Results do not depend on the choice, only time does.
//
// It measures both ways and takes the better one. The other one is tried again only
// after a time in which the loss by that trial is a small part.
type pace struct {
	one, many time.Duration // a step's, lately; 0: not known
	short     bool          // one worker would be done within longStep
	trial     bool          // the present step is a trial
	retry     time.Duration // when the worse way is tried again, since processStart
}

const (
	// longStep is where barriers stop to matter: with that much work, several workers win
	// whenever there are processors for them, and a trial would be expensive.
	longStep = time.Millisecond

	// trialShare is the inverse of the share of time that trials may lose.
	trialShare = 64
)

// paces are those of one function, by the order of magnitude of its first symbol, which
// is the tokens of the step in a language model.
type paces [16]pace

func (p *paces) of(a *Args) *pace { return &p[min(bits.Len(uint(a.Dims[0])), len(p)-1)] }

// parts is how many of n workers do the step that begins now.
func (c *pace) parts(n int, now time.Duration) int {
	if c.trial = false; c.many == 0 || !c.short {
		return n
	}
	c.trial = c.one == 0 || now >= c.retry
	if oneWins := c.one != 0 && c.one < c.many; oneWins != c.trial {
		return 1
	}
	return n
}

// note learns from the step that ends now, in which worker 0 waited for part of the time.
func (c *pace) note(parts int, took, waited, now time.Duration) {
	if parts == 1 {
		c.one = blend(c.one, took)
	} else {
		c.many = blend(c.many, took)
		c.short = (took-waited)*time.Duration(parts) < longStep
	}
	if c.trial {
		best := min(c.one, c.many)
		c.retry = now + trialShare*max(took-best, best)
	}
}

// blend follows the last measurements quickly, since a trial is only one.
func blend(old, now time.Duration) time.Duration {
	if old == 0 {
		return now
	}
	return (old + now) / 2
}
