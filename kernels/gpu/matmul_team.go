package gpu

import (
	"slices"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// teams divide a workgroup into teams of threads that add numbers together: its subgroups, which need neither shared
// memory nor a barrier for that, or without kir.CapSubgroup the workgroup as one team.
type teams struct {
	*lowering
	lanes *kir.Value // threads of a team
	lane  *kir.Value // number of the thread in its team
	count *kir.Value // teams of a workgroup
	team  *kir.Value // number of the team in the workgroup

	part    *kir.Shared // of a workgroup that is one team: sumsAtOnce numbers of each thread
	threads int
}

// fewestLanes is the number of threads that the smallest subgroups have, sumsAtOnce how many sums of a team have room in
// shared memory.
const (
	fewestLanes = 4
	sumsAtOnce  = 4
)

// teams returns the teams of a workgroup.
func (l *lowering) teams(threads int) *teams {
	if l.on.Caps&kir.CapSubgroup == 0 {
		part := l.NewShared("part", kir.Scalar(kir.F32), threads*sumsAtOnce)
		return &teams{l, l.Int(threads), l.Thread(), l.one, l.zero, part, threads}
	}
	lanes := l.Int(l.on.Lanes)
	if l.on.Lanes == 0 {
		lanes = l.Lanes()
	}
	return &teams{lowering: l, lanes: lanes, lane: l.Lane(), count: l.Div(l.Int(threads), lanes), team: l.Subgroup()}
}

// fewest returns the number of teams of a workgroup, with the largest subgroups if their size is not known.
func (l *lowering) fewest(threads int) int {
	switch {
	case l.on.Caps&kir.CapSubgroup == 0:
		return 1
	case l.on.Lanes == 0:
		return max(threads/128, 1)
	}
	return threads / l.on.Lanes
}

// sum returns the sums of numbers over the threads of each team.
func (t *teams) sum(x []*kir.Value) []*kir.Value {
	var all []*kir.Value
	if t.part != nil {
		for some := range slices.Chunk(x, sumsAtOnce) {
			all = append(all, t.sumShared(some)...)
		}
		return all
	}
	for i := range x {
		all = append(all, t.ReduceAdd(x[i]))
	}
	return all
}

// sumShared adds in a tree, so that the order is fixed.
func (t *teams) sumShared(x []*kir.Value) []*kir.Value {
	at := func(i int, thread *kir.Value) *kir.Value { return t.Add(thread, t.Int(i*t.threads)) }
	me := t.Thread()
	for i := range x {
		t.SharedStore(t.part, at(i, me), x[i])
	}
	t.Barrier()
	for n := t.threads / 2; n > 0; n /= 2 {
		t.If(t.Lt(me, t.Int(n)), func() {
			other := t.Add(me, t.Int(n))
			for i := range x {
				t.SharedStore(t.part, at(i, me), t.Add(t.SharedLoad(t.part, at(i, me)), t.SharedLoad(t.part, at(i, other))))
			}
		})
		t.Barrier()
	}
	all := make([]*kir.Value, len(x))
	for i := range x {
		all[i] = t.SharedLoad(t.part, t.Int(i*t.threads))
	}
	t.Barrier() // the next sums overwrite them
	return all
}
