package interp

import (
	"fmt"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

func stepBarrier(*group, *thread, *inst) signal { return parked }

func stepSubgroup(*group, *thread, *inst) signal { return parked }

// waitingAt returns the instruction at which a thread is parked.
func (g *group) waitingAt(t *thread) *inst { return &g.m.code[t.pc-1] }

func (g *group) waitsAt(t *thread) *kir.Instr { return g.waitingAt(t).of }

// apart returns the first thread that is not at the same instruction, in the same iteration of each loop around it, as
// the first of the threads; nil if there is none. All are parked.
func (g *group) apart(threads []thread) *thread {
	first := &threads[0]
	for i := range threads {
		t := &threads[i]
		if t.pc != first.pc {
			return t
		}
		for _, index := range g.waitingAt(t).loops {
			if t.registers[index] != first.registers[index] {
				return t
			}
		}
	}
	return nil
}

// whereabouts tells what a thread that does not run is doing.
func (g *group) whereabouts(t *thread) string {
	if t.state == ended {
		return fmt.Sprintf("thread %d has ended", t.index)
	}
	in := g.waitingAt(t)
	s := fmt.Sprintf("thread %d is at instruction %d (%s)", t.index, in.number, in.text())
	for _, index := range in.loops {
		s += fmt.Sprintf(", index %d", int32(t.registers[index]))
	}
	return s
}

// ofGroup reports whether all threads of a workgroup make an operation together.
func ofGroup(op kir.Op) bool {
	switch op {
	case kir.OpBarrier, kir.OpSlabFill, kir.OpSlabMulAdd, kir.OpSlabFence, kir.OpSlabCommit, kir.OpSlabWait, kir.OpSlabTile:
		return true
	}
	return false
}

// passBarrier lets all threads continue, which are at barriers or at an operation of the workgroup.
func (g *group) passBarrier() signal {
	first := &g.threads[0]
	if t := g.apart(g.threads); t != nil {
		return g.fail(first, g.waitingAt(first), Barrier, "%s, %s", g.whereabouts(first), g.whereabouts(t))
	}
	if in := g.waitingAt(first); in.of.Op != kir.OpBarrier {
		if !g.slab(in) {
			return failed
		}
	} else if g.phase++; g.phase == maxPhases {
		return g.fail(first, g.waitingAt(first), Barrier, "more than %d barriers", maxPhases)
	}
	g.atBarrier = 0
	for i := range g.threads {
		g.ready = append(g.ready, int32(i))
	}
	return proceed
}

// meet makes the operation of a subgroup, all threads of which have reached one.
func (g *group) meet(subgroup int) signal {
	from := subgroup * g.m.subgroup
	threads := g.threads[from : from+g.m.subgroup]
	in := g.waitingAt(&threads[0])
	if t := g.apart(threads); t != nil {
		return g.fail(&threads[0], in, Subgroup, "%s, %s", g.whereabouts(&threads[0]), g.whereabouts(t))
	}
	switch in.of.Op {
	case kir.OpShuffleXor:
		shuffle(threads, in)
	case kir.OpReduceAdd, kir.OpReduceMax:
		reduce(threads, in)
	default:
		if !g.tile(threads, in) {
			return failed
		}
	}
	g.atMeeting[subgroup] = 0
	for i := range threads {
		g.ready = append(g.ready, int32(from+i))
	}
	return proceed
}

// operands returns the operand of each thread.
func operands(threads []thread, in *inst) (values [64]uint64) {
	for i := range threads {
		values[i] = threads[i].registers[in.a]
	}
	return values
}

func shuffle(threads []thread, in *inst) {
	values := operands(threads, in)
	for i := range threads {
		threads[i].registers[in.dst] = values[i^int(in.of.Imm)]
	}
}

func reduce(threads []thread, in *inst) {
	values := operands(threads, in)
	for half := 1; half < len(threads); half *= 2 {
		for i := 0; i < len(threads); i += 2 * half {
			values[i] = in.run(values[i], values[i+half], 0)
		}
	}
	for i := range threads {
		threads[i].registers[in.dst] = values[0]
	}
}

// stall records why no thread of the group can run, though some wait. It returns false.
func (g *group) stall() bool {
	for s, waiting := range g.atMeeting {
		if waiting > 0 {
			from := s * g.m.subgroup
			g.missing(g.threads[from:from+g.m.subgroup], Subgroup)
			return false
		}
	}
	g.missing(g.threads, Barrier)
	return false
}

// missing reports threads of which some wait at an operation that others do not reach.
func (g *group) missing(threads []thread, kind string) {
	isThere := func(t *thread) bool {
		return t.state == parked && ofGroup(g.waitsAt(t).Op) == (kind == Barrier)
	}
	var there, away *thread
	for i := range threads {
		if t := &threads[i]; isThere(t) {
			there = t
		} else {
			away = t
		}
	}
	g.fail(there, g.waitingAt(there), kind, "%s", g.whereabouts(away))
}
