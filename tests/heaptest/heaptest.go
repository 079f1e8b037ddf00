// Package heaptest measures how much memory a function needs.
package heaptest

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// PeakLive returns by how many bytes the live heap grew, at most, while do ran: what
// garbage collections found to be in use. There is one for every few percent of growth. What
// do leaves in use counts, too. Nothing else of the process may allocate meanwhile.
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
