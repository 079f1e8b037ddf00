package passes

import (
	"math"
	"runtime/debug"
)

// How often the collector runs while a module is compiled. Passes make tables, drop them and
// keep the module, which is small beside them: most of what a collection visits stays. But memory
// that is not used again has to be found by the system, page by page. BenchmarkPasses of 100,000
// nodes by cost, a process for each, in turns, medians of six: the first run takes 2.28 s with 400 %
// and 2.08 s with 200 %, those behind it 1.68 and 1.66 s; the heap is 618 and 564 MiB. At the limit
// the collector runs as often as it has to.
const (
	relaxedPercent = 200
	relaxedLimit   = 896 << 20 // bytes
)

// RelaxCollector has Go's collector run more rarely, for programs that do little else than
// compile; restore sets back how often it ran. Who has set GOGC or GOMEMLIMIT is left alone.
func RelaxCollector() (restore func()) {
	percent, limit := debug.SetGCPercent(relaxedPercent), debug.SetMemoryLimit(relaxedLimit)
	restore = func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
	const goPercent, goLimit = 100, math.MaxInt64 // Go's own, see runtime/debug
	if percent != goPercent || limit != goLimit {
		restore()
	}
	return restore
}
