package runtime

import (
	"math/bits"
	"time"
)

// pace decides at run time how many workers do a step. The compiler cannot know what else
// runs on the machine, and two cases make a step slower with more workers.
//
// A short step: where two workers have two processors for themselves a barrier costs
// 0.1 µs, where they share one with others it costs 100 µs, and a step of 20 µs with it
// becomes one of 1 ms. The choice is between all workers and one.
//
// A disturbed step: where others use one of the processors, all workers wait at every
// barrier for the one that shares it, which the system lets run in turns of some
// milliseconds; two workers then need twice as long for a token, which is longer than one
// alone needs, whose reads take most of the bandwidth anyway. Fewer workers are tried, one
// by one; when that helps, more of them are tried again from time to time.
//
// It measures, and keeps what is faster. Another number is tried only after a time in
// which the loss by that trial is a small part. Results do not depend on the number of
// workers, only time does.
type pace struct {
	n, use    int           // workers that there are, and that are used
	took      time.Duration // by a step on use workers, lately; 0: not known
	short     bool          // one worker would be done within longStep
	disturbed int           // steps on use workers, one after another, in which much was lost by waiting
	below     int           // how many fewer than use to try next
	share     time.Duration // inverse of the share of time that trials may lose now
	retry     time.Duration // when the next trial may be, since processStart
}

const (
	// longStep is where a barrier's cost stops to matter: with that much work, several workers
	// win whenever there are processors for them, and a trial would be expensive.
	longStep = time.Millisecond

	// trialShare is the inverse of the share of time that trials may lose in the long run, and
	// crowdShare that of trials with more workers where fewer were better: others come and go,
	// and who waits for 64 steps has lost more than by trials. A choice that is new is doubted
	// sooner: the first trials may lose a quarter, each one that confirms it halves that.
	trialShare, crowdShare, firstShare = 64, 16, 4

	// lostShare is the inverse of the part of all workers' time from which on waiting says
	// that something disturbs them: undisturbed steps lose 3 to 10 %, of two workers of
	// which one shares its processor half of the time, 25 % or more.
	lostShare = 5

	// disturbedSteps is how many steps, one after another, have to be disturbed before fewer
	// workers are tried: some in a row are what any machine has now and then.
	disturbedSteps = 6
)

// paces are those of one function, by the order of magnitude of its first symbol, which
// is the tokens of the step in a language model.
type paces [16]pace

func (p *paces) of(a *Args) *pace { return &p[min(bits.Len(uint(a.Dims[0])), len(p)-1)] }

// parts is how many of n workers do the step that begins now.
func (c *pace) parts(n int, now time.Duration) int {
	if c.n != n {
		*c = pace{n: n, use: n, below: 1, share: firstShare}
	}
	if c.took == 0 || now < c.retry {
		return c.use
	}
	return c.other()
}

// other is the number of workers to try; use where nothing speaks for another one.
func (c *pace) other() int {
	switch {
	case c.short && c.use > 1:
		return 1
	case c.short:
		return c.n
	case c.disturbed >= disturbedSteps && c.use > c.below:
		return c.use - c.below
	case c.use < c.n: // what others used may be free again
		return c.use + 1
	}
	return c.use
}

// spin is how long workers of the step look at a word before they park: longer where nothing
// disturbed the last one.
func (c *pace) spin() time.Duration {
	if c.disturbed == 0 && c.use == c.n {
		return calmSpin
	}
	return spinTime
}

// note learns from the step that ends now. waited is the time of all its workers together at
// barriers.
func (c *pace) note(parts int, took, waited, now time.Duration) {
	lost := waited > took*time.Duration(parts)/lostShare
	if parts == c.use {
		c.noteUsual(took, lost, now)
	} else {
		c.noteTrial(parts, took, lost, now)
	}
	c.short = took*time.Duration(parts)-waited < longStep
}

// noteUsual is note for a step that was no trial. What steps took before others came or went
// says nothing about what they take now.
func (c *pace) noteUsual(took time.Duration, lost bool, now time.Duration) {
	if lost != (c.disturbed > 0) && !c.short {
		c.took = 0
	}
	if c.disturbed++; !lost {
		c.disturbed = 0
	}
	if c.disturbed == disturbedSteps {
		c.retry, c.below = now, 1
	}
	c.took = blend(c.took, took)
}

// noteTrial takes over the number that was tried, if it was faster. Where fewer workers wait
// for each other as well, still fewer are tried at once, down to half.
func (c *pace) noteTrial(parts int, took time.Duration, lost bool, now time.Duration) {
	best := min(c.took, took)
	switch {
	case took < c.took:
		c.use, c.took, c.disturbed, c.below, c.share = parts, took, 0, 1, firstShare
		if lost {
			c.disturbed = disturbedSteps
		}
	case parts < c.use && lost && parts-1 >= max(1, c.use/2):
		c.below++
		return
	default:
		c.below, c.share = 1, 2*c.share
	}
	c.share = min(c.share, c.mostShare())
	c.retry = now + c.share*max(took-best, best)
}

// mostShare is what share grows to.
func (c *pace) mostShare() time.Duration {
	if !c.short && c.use < c.n {
		return crowdShare
	}
	return trialShare
}

// blend follows the last measurements quickly, since a trial is only one.
func blend(old, now time.Duration) time.Duration {
	if old == 0 {
		return now
	}
	return (old + now) / 2
}
