// Package heaptest measures how much memory a function needs.
package heaptest

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// PeakLive returns the largest growth of the live heap while do runs, as measured by garbage collections. One takes
// place for every few percent of growth. Memory still in use after do counts, too. Nothing else in the process may
// allocate meanwhile.
func PeakLive(do func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	runtime.GC()
	before, peak := live(), int64(0)
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Microsecond):
				peak = max(peak, live())
			}
		}
	}()
	do()
	runtime.GC()
	close(stop)
	<-done
	return max(peak, live()) - before
}

func live() int64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}
