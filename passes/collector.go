package passes

import (
	"math"
	"runtime/debug"
)

// How often the collector runs while a module is compiled. Passes make tables, drop them and
// keep the module, which is small beside them: most of what a collection visits stays. With Go's
// own 100 % it takes a fifth of the time of 100,000 nodes (TestNearLinear's graph, 4.6 s of CPU
// time; with 400 % it is 3.8 s). Peaks are 700 to 870 MiB then; at the limit the collector runs
// as often as it has to.
const (
	relaxedPercent = 400
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
