package gpu

import (
	"slices"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// teams divide a workgroup into teams of threads that add numbers together. A team is a subgroup, which needs neither
// shared memory nor a barrier for that, or the workgroup.
type teams struct {
	*lowering
	lanes *kir.Value // threads of a team
	lane  *kir.Value // number of the thread in its team
	count *kir.Value // teams of a workgroup
	team  *kir.Value // number of the team in the workgroup

	size    int         // threads of a team; 0 if that is not known
	common  int         // teams of a workgroup, if subgroups have the common size
	part    *kir.Shared // of a team that is a workgroup, for sumsAtOnce sums
	threads int         // of a workgroup
}

// sumsAtOnce is how many sums have room in shared memory, commonLanes how many threads the subgroups of most GPUs have.
const (
	sumsAtOnce  = 4
	commonLanes = 32
)

// enoughTeams is how many subgroups are enough to fill a GPU: 16 for each of 128 multiprocessors. If there is less work
// than that, and subgroups have a known size, a team is a workgroup. Otherwise barriers would cost more than they gain:
// drivers that compute on the processor run a thread after the other up to a barrier, and keep all variables of such a
// kernel in memory.
const enoughTeams = 2048

// teamsFor returns teams for work that could be divided among that many.
func (l *lowering) teamsFor(work int64, threads int) *teams {
	on := l.on
	if on.has(kir.CapSubgroup) && (on.Lanes == 0 || work >= enoughTeams) {
		return l.subgroups(threads)
	}
	return l.workgroup(threads)
}

// subgroups returns teams that are subgroups.
func (l *lowering) subgroups(threads int) *teams {
	t := &teams{lowering: l, lane: l.Lane(), team: l.Subgroup(), threads: threads}
	if t.size = l.on.Lanes; t.size > 0 {
		t.lanes, t.common = l.Int(t.size), threads/t.size
		t.count = l.Int(t.common)
	} else {
		t.lanes, t.common = l.Lanes(), threads/commonLanes
		t.count = l.Div(l.Int(threads), t.lanes)
	}
	return t
}

// workgroup returns the team of a whole workgroup.
func (l *lowering) workgroup(threads int) *teams {
	parts := threads
	if l.on.has(kir.CapSubgroup) {
		parts /= l.on.Lanes
	}
	return &teams{
		lowering: l, lanes: l.Int(threads), lane: l.Thread(), count: l.one, team: l.zero,
		size: threads, common: 1, part: l.NewShared("part", kir.Scalar(kir.F32), parts*sumsAtOnce), threads: threads,
	}
}

// sum returns the sums of numbers over the threads of each team. The order of additions is fixed.
func (t *teams) sum(x []*kir.Value) []*kir.Value {
	subgroups := t.on.has(kir.CapSubgroup)
	if subgroups {
		x = slices.Clone(x)
		for i := range x {
			x[i] = t.ReduceAdd(x[i])
		}
	}
	if t.part == nil {
		return x
	}
	var all []*kir.Value
	for some := range slices.Chunk(x, sumsAtOnce) {
		if subgroups {
			all = append(all, t.sumSubgroups(some)...)
		} else {
			all = append(all, t.sumThreads(some)...)
		}
	}
	return all
}

// sumSubgroups adds numbers that the threads of each subgroup have in common, one subgroup's after the other's.
func (t *teams) sumSubgroups(x []*kir.Value) []*kir.Value {
	count := t.threads / t.on.Lanes
	t.If(t.Eq(t.Lane(), t.zero), func() {
		for i := range x {
			t.SharedStore(t.part, t.Add(t.Subgroup(), t.Int(i*count)), x[i])
		}
	})
	t.Barrier()
	all := make([]*kir.Value, len(x))
	for i := range x {
		all[i] = t.SharedLoad(t.part, t.Int(i*count))
		for s := 1; s < count; s++ {
			all[i] = t.Add(all[i], t.SharedLoad(t.part, t.Int(i*count+s)))
		}
	}
	t.Barrier() // the next sums overwrite them
	return all
}

// sumThreads adds the numbers of all threads in a tree.
func (t *teams) sumThreads(x []*kir.Value) []*kir.Value {
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
