package runtime

import (
	"context"
	"math"
	"time"
	"unsafe"
)

// probes holds the loops that measure the limits of this machine.
type probes struct {
	f32, int8 arithmetic
	bf16      arithmetic // no loop if there is no instruction for it: f32 is as fast
	// read runs n iterations. Each reads 128 bytes at p and at 1, 2 and 3 strides after it, and then advances p by
	// step. If ahead is not 0, it prefetches the bytes at that distance.
	read func(p unsafe.Pointer, stride, step, ahead, n int)
}

// arithmetic is a loop that only multiplies and adds.
type arithmetic struct {
	loop func(n int)
	ops  float64 // per iteration; a multiply and an add are two
}

// scalarProbes measures Go code without vector instructions.
var scalarProbes = probes{
	f32:  arithmetic{scalarF32, 8},
	int8: arithmetic{scalarInt, 8},
	read: scalarRead,
}

func scalarF32(n int) {
	var a, b, c, d float32
	for i := range n {
		x := float32(i)
		a, b, c, d = a+x*1.5, b+x*2.5, c+x*3.5, d+x*4.5
	}
	keep(float64(a + b + c + d))
}

func scalarInt(n int) {
	var a, b, c, d int32
	for i := range n {
		x := int32(i)
		a, b, c, d = a+x*x, b+x*3, c+x*5, d+x*7
	}
	keep(float64(a + b + c + d))
}

func scalarRead(p unsafe.Pointer, stride, step, _, n int) {
	var sum uint64
	for i := range n {
		for s := range 4 {
			for _, v := range (*[16]uint64)(unsafe.Add(p, i*step+s*stride)) {
				sum += v
			}
		}
	}
	keep(float64(sum))
}

// keep uses a result: the compiler does not look into it, and so computes its operand.
//
//go:noinline
func keep(float64) {}

// peak measures on the workers of a pool. With the pool of a model, it measures what the model's steps could reach.
type peak struct {
	pool   *pool
	probes probes
	ticket *ticket
	buffer arena
}

// pattern is a way to read memory, in bytes; see probes.read.
type pattern struct{ stride, step, ahead int }

// readBytes is the size of the memory that a bandwidth probe reads: several times the largest cache.
const readBytes = 256 << 20

func newPeak(on *pool) *peak {
	p := &peak{pool: on, probes: probesHere(), ticket: newTicket(), buffer: newArena(readBytes)}
	adviseHuge(p.buffer.bytes) // as for weights, so that the probe does not wait for the TLB
	p.buffer.poison()          // pages that were never written are one shared page of zeros
	return p
}

func (p *peak) threads() int { return len(p.pool.workers) }

// peakIterations is the number of iterations of an arithmetic loop between two reads of the clock. They take well
// below a millisecond, since assembly cannot be preempted.
const peakIterations = 10000

// gops returns the arithmetic peak in 10^9 operations per second.
func (p *peak) gops(ctx context.Context, kind string) (float64, error) {
	a := p.probes.f32
	switch {
	case kind == "int8":
		a = p.probes.int8
	case kind == "bf16" && p.probes.bf16.loop != nil:
		a = p.probes.bf16
	}
	const calls = 100
	d, err := p.best(ctx, func(w *Worker) {
		for range calls {
			a.loop(peakIterations)
		}
	})
	return a.ops * peakIterations * calls * float64(p.threads()) / d.Seconds() / 1e9, err
}

// numPatterns is the number of ways to read, of which the fastest counts.
const numPatterns = 3

// patterns returns the ways to read: one stream per worker, four streams, and four streams with prefetching, which is
// slightly faster on Sapphire Rapids.
func (p *peak) patterns() [numPatterns]pattern {
	const ahead = 4096 // as in products of quantized weights
	apart := p.share() / 4
	return [...]pattern{{128, 512, 0}, {apart, 128, 0}, {apart, 128, ahead}}
}

// gbs returns the read bandwidth in 10^9 bytes per second, as the best of several short runs.
func (p *peak) gbs(ctx context.Context) (float64, error) {
	shortest := time.Duration(math.MaxInt64)
	for _, streams := range p.patterns() {
		d, err := p.best(ctx, func(w *Worker) { p.stream(w, streams) })
		if err != nil {
			return 0, err
		}
		shortest = min(shortest, d)
	}
	return p.bytes() / shortest.Seconds() / 1e9, nil
}

// read reads the buffer once in each pattern, which takes a few milliseconds each, and adds the durations to took.
func (p *peak) read(ctx context.Context, took *[numPatterns]time.Duration) error {
	for i, streams := range p.patterns() {
		d, err := p.once(ctx, func(w *Worker) { p.stream(w, streams) })
		if err != nil {
			return err
		}
		took[i] += d
	}
	return nil
}

// bytes returns the number of bytes that a pattern reads.
func (p *peak) bytes() float64 { return float64(p.share() * p.threads()) }

// share returns the size of each worker's part of the buffer, a multiple of what an iteration reads.
func (p *peak) share() int { return readBytes / p.threads() &^ 4095 }

// stream reads a worker's part. Each call of the probe reads 1 MiB, in some 100 µs.
func (p *peak) stream(w *Worker, streams pattern) {
	base := unsafe.Add(p.buffer.base(), w.Part*p.share())
	for iterations := p.share() / 512; iterations > 0; {
		n := min(iterations, 2048)
		p.probes.read(base, streams.stride, streams.step, streams.ahead, n)
		base = unsafe.Add(base, n*streams.step)
		iterations -= n
	}
}

// best returns the duration of the shortest of three runs of f on all workers.
func (p *peak) best(ctx context.Context, f func(w *Worker)) (time.Duration, error) {
	shortest := time.Duration(math.MaxInt64)
	for range 3 {
		took, err := p.once(ctx, f)
		if err != nil {
			return 1, err
		}
		shortest = min(shortest, took)
	}
	return shortest, nil
}

// once returns the duration of one run of f on all workers.
func (p *peak) once(ctx context.Context, f func(w *Worker)) (took time.Duration, err error) {
	step := Func{Name: "peak", Run: func(w *Worker, _ *Args) {
		w.Barrier()
		begin := time.Now()
		f(w)
		w.Barrier()
		if w.Part == 0 {
			took = time.Since(begin)
		}
	}}
	err = p.pool.run(ctx, p.ticket, &step, &Args{}, nil)
	return took, err
}
