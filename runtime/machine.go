package runtime

import (
	"context"
	"math"
	"time"
)

// Machine holds measured limits of this machine with a given number of workers, for a cost model.
type Machine struct {
	Workers          int
	F32, Int8        float64 // multiplies and adds per second of one worker
	Read, ReadOne    float64 // bytes per second from memory: by all workers, by one alone
	ReadCache        float64 // bytes per second that one worker reads from its own cache
	Barrier, Handoff float64 // seconds: of a barrier at which all workers arrive together, of an empty step
}

// cacheBytes is the size of the data that the cache probe reads repeatedly. It fits into the second-level cache, but
// not into the first-level cache, of every processor with vector instructions.
const cacheBytes = 192 << 10

// MeasureMachine measures the machine with a worker pool of its own. It takes less than a second for each of several
// measurements.
func MeasureMachine(ctx context.Context, workers int) (Machine, error) {
	m := Machine{Workers: workers}
	one, all := newPool(1, 0), newPool(workers, 0)
	defer one.close()
	defer all.close()
	alone, together := newPeak(one), newPeak(all)
	rates := []struct {
		to      *float64
		measure func(context.Context) (float64, error)
		unit    float64
	}{
		{&m.F32, func(ctx context.Context) (float64, error) { return alone.gops(ctx, "f32") }, 1e9},
		{&m.Int8, func(ctx context.Context) (float64, error) { return alone.gops(ctx, "int8") }, 1e9},
		{&m.ReadOne, alone.gbs, 1e9},
		{&m.Read, together.gbs, 1e9},
		{&m.ReadCache, alone.cached, 1},
	}
	for range 2 { // interleaved, as other load may pass
		for _, r := range rates {
			v, err := r.measure(ctx)
			if err != nil {
				return m, err
			}
			*r.to = max(*r.to, v*r.unit)
		}
	}
	var err error
	if m.Barrier, err = together.barrier(ctx); err != nil {
		return m, err
	}
	m.Handoff, err = together.handoff(ctx)
	return m, err
}

// cached returns the bytes per second of reading cacheBytes repeatedly.
func (p *peak) cached(ctx context.Context) (float64, error) {
	const times = 200
	d, err := p.best(ctx, func(*Worker) {
		for range times {
			p.probes.read(p.buffer.base(), 128, 512, 0, cacheBytes/512)
		}
	})
	return times * cacheBytes / d.Seconds(), err
}

// shortRuns is the number of runs of which the shortest counts. A barrier takes a fraction of a microsecond, or
// thousands of times that if the system runs something else meanwhile.
const shortRuns = 1000

// barrier returns the duration of a barrier in seconds.
func (p *peak) barrier(ctx context.Context) (float64, error) {
	const times = 8
	shortest := math.Inf(1)
	for range shortRuns {
		d, err := p.once(ctx, func(w *Worker) {
			for range times {
				w.Barrier()
			}
		})
		if err != nil {
			return 0, err
		}
		shortest = min(shortest, d.Seconds()/times)
	}
	return shortest, nil
}

// handoff returns the duration of an empty step in seconds.
func (p *peak) handoff(ctx context.Context) (float64, error) {
	const times = 4
	empty := Func{Name: "empty", Run: func(*Worker, *Args) {}}
	shortest := math.Inf(1)
	for range shortRuns {
		begin := time.Now()
		for range times {
			if err := p.pool.run(ctx, p.ticket, &empty, &Args{}, nil); err != nil {
				return 0, err
			}
		}
		shortest = min(shortest, time.Since(begin).Seconds()/times)
	}
	return shortest, nil
}
