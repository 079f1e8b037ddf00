package runtime

import (
	"testing"
	"time"
)

// simulate runs steps with the given durations and returns the time of all.
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

func TestPaceTakesTheFasterWay(t *testing.T) {
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
		simulate(&p, 200, &now, c.one, c.many, c.waited) // learns
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
	for i := range 4 { // others come and go
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
