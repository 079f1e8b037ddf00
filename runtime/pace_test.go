package runtime

import (
	"testing"
	"time"
)

// simulate runs steps with the given durations and returns their total time.
func simulate(c *pace, steps int, now *time.Duration, one, many, waited time.Duration) (total time.Duration, ones int) {
	for range steps {
		parts, took := c.parts(2, *now), many
		if parts == 1 {
			took = one
			ones++
		}
		*now += took
		total += took
		if parts == 1 {
			c.note(parts, took, 0, *now)
		} else {
			c.note(parts, took, waited, *now)
		}
	}
	return total, ones
}

func TestPaceTakesTheFasterNumberOfWorkers(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		name              string
		one, many, waited time.Duration
	}{
		{"two processors", 20 * us, 11 * us, us},
		{"one processor for two", 20 * us, 1200 * us, 1180 * us},
		{"no gain", 20 * us, 25 * us, 10 * us},
	} {
		var p pace
		now := time.Duration(0)
		simulate(&p, 200, &now, c.one, c.many, c.waited) // lets it learn
		total, _ := simulate(&p, 5000, &now, c.one, c.many, c.waited)
		if best := 5000 * min(c.one, c.many); total > best+best/16 {
			t.Errorf("%s: %v for what takes %v", c.name, total, best)
		}
	}
}

func TestPaceFollowsTheMachine(t *testing.T) {
	const us = time.Microsecond
	var p pace
	now := time.Duration(0)
	for i := range 4 { // other processes come and go
		many, waited := 11*us, us
		if i%2 == 1 {
			many, waited = 1200*us, 1180*us
		}
		simulate(&p, 20000, &now, 20*us, many, waited)
		_, ones := simulate(&p, 1000, &now, 20*us, many, waited)
		if busy := i%2 == 1; busy != (ones > 500) {
			t.Errorf("phase %d: %d of 1000 steps by one worker", i, ones)
		}
	}
}

func TestPaceLeavesLongStepsAlone(t *testing.T) {
	var p pace
	now := time.Duration(0)
	if _, ones := simulate(&p, 1000, &now, 40*time.Millisecond, 22*time.Millisecond, 2*time.Millisecond); ones != 0 {
		t.Errorf("%d steps of 40 ms by one worker", ones)
	}
}

// crowded simulates long steps on n processors, some of which are shared. takes returns the duration of a step and
// the workers' waiting time, by the number of workers.
func crowded(c *pace, n, steps int, now *time.Duration, takes func(parts int) (took, waited time.Duration)) (total time.Duration, parts []int) {
	parts = make([]int, n+1)
	for range steps {
		k := c.parts(n, *now)
		took, waited := takes(k)
		*now += took
		total += took
		parts[k]++
		c.note(k, took, waited, *now)
	}
	return total, parts
}

// shared is a machine on which other processes use some of n processors. One worker needs the time work. Several
// divide it, except for the part that is bound by memory. A worker that shares its processor takes twice as long, and
// the others wait for it.
func shared(n, others int, work time.Duration) func(parts int) (took, waited time.Duration) {
	return func(parts int) (time.Duration, time.Duration) {
		each := (work + 3*work/time.Duration(parts)) / 4
		if parts <= n-others {
			return each, each * time.Duration(parts) / 20
		}
		return 2 * each, each * time.Duration(n-others)
	}
}

func TestPaceLeavesProcessorsToOthers(t *testing.T) {
	for _, n := range []int{2, 4, 16} {
		var p pace
		now := time.Duration(0)
		for i, others := range []int{0, 1, 0, min(3, n-1), 1, 0} {
			takes := shared(n, others, 20*time.Millisecond)
			crowded(&p, n, 600, &now, takes) // lets it learn
			total, parts := crowded(&p, n, 2000, &now, takes)
			best, _ := takes(n - others)
			if total > 2000*best+2000*best/10 { // one in 16 for trials, and the time to learn anew
				t.Errorf("%d processors, phase %d, %d used by others: %v for what takes %v; steps by workers %v", n, i, others, total, 2000*best, parts)
			}
		}
	}
}

// TestPaceLetsWorkersSpinWhereNothingDisturbs: a processor on which a worker spins is not available to others.
func TestPaceLetsWorkersSpinWhereNothingDisturbs(t *testing.T) {
	var p pace
	now := time.Duration(0)
	for _, c := range []struct {
		name   string
		others int
		want   time.Duration
	}{{"alone", 0, calmSpin}, {"beside a process", 1, spinTime}, {"alone again", 0, calmSpin}} {
		crowded(&p, 4, 600, &now, shared(4, c.others, 20*time.Millisecond))
		if got := p.spin(); got != c.want {
			t.Errorf("%s: workers look for %v, want %v", c.name, got, c.want)
		}
	}
}

// TestPaceForgivesASlowStep has occasional steps that are slow for no lasting reason.
func TestPaceForgivesASlowStep(t *testing.T) {
	var p pace
	now, calls := time.Duration(0), 0
	_, parts := crowded(&p, 2, 1000, &now, func(parts int) (time.Duration, time.Duration) {
		if calls++; calls%10 < 2 {
			return 30 * time.Millisecond, 20 * time.Millisecond
		}
		return shared(2, 0, 20*time.Millisecond)(parts)
	})
	if parts[1] != 0 {
		t.Errorf("%d steps by one worker", parts[1])
	}
}
