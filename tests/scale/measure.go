package scale

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/passes"
)

// Figures are the time and memory of a run of all passes.
type Figures struct {
	Wall, CPU time.Duration // CPU is that of all threads, including the garbage collector
	Heap      uint64        // bytes, the largest live or uncollected heap after any pass
	Nodes     int           // at the end, including leaves and views
	Splits    int
	Inputs    int // of the split with the most
	Stats     *pass.Stats
}

// Measure makes a graph and runs all passes on it, each followed by the verifier, without the planner's search.
func Measure(ctx context.Context, s Shape, o pass.Options) (Figures, error) {
	m, err := s.Module()
	if err != nil {
		return Figures{}, err
	}
	targets, err := s.Targets()
	if err != nil {
		return Figures{}, err
	}
	if o.Pins, err = s.pins(); err != nil {
		return Figures{}, err
	}
	o.Debug = append(o.Debug, pass.Setting{Pass: "plan", Flag: "greedy", Value: "true"})
	defer debug.SetGCPercent(debug.SetGCPercent(200)) // as the command has it
	runtime.GC()
	cpu, wall := processTime(), time.Now()
	stats, err := passes.Run(ctx, m, passes.RunOptions{Targets: targets, Options: o})
	fig := Figures{Wall: time.Since(wall), CPU: processTime() - cpu, Stats: stats}
	if err != nil {
		return fig, err
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	fig.Heap = mem.HeapSys
	last := stats.Passes[len(stats.Passes)-1].Figures
	fig.Nodes, fig.Splits = last.Nodes, last.Splits
	for _, split := range m.Plan.Funcs[0].Splits {
		fig.Inputs = max(fig.Inputs, len(split.Inputs))
	}
	return fig, nil
}

// Exponent returns the power of the number of nodes with which time grows between two figures.
func Exponent(small, large Figures, nodes float64) float64 {
	return math.Log(large.CPU.Seconds()/small.CPU.Seconds()) / math.Log(nodes)
}
