//go:build unix

package runtime

import (
	"context"
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the time that all threads of this process have used.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestIdleSessionsUseNoProcessor checks that workers park soon after a step. The garbage collector and the scheduler
// may use some milliseconds.
func TestIdleSessionsUseNoProcessor(t *testing.T) {
	const span = 200 * time.Millisecond
	procs(t, 3)
	for _, threads := range []int{1, 3} {
		_, s := openToy(t, threads)
		for range 10 {
			if _, err := s.Decode(context.Background(), 1); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Millisecond) // they spin for calmSpin, or longer where processors are few
		before := cpuTime(t)
		time.Sleep(span)
		if used := cpuTime(t) - before; used > span/10 {
			t.Errorf("%d workers that have nothing to do used %v in %v", threads, used, span)
		}
	}
}
