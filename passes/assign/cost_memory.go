package assign

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/placement"
	"github.com/ggmlc/ggmlc/passes/target"
)

// limit sets the limits of the spaces.
func (p *costProblem) limit(limits []int64) {
	p.limits, p.Limits = limits, limits
	p.Room, p.CopyRoom = make([]int64, len(limits)), make([]int64, len(limits))
	for s := range limits {
		p.Room[s], p.CopyRoom[s] = p.room(s, 1), p.room(s, p.instances(s))
	}
}

// limited reports whether some space has a limit.
func (p *costProblem) limited() bool {
	return slices.ContainsFunc(p.limits, func(n int64) bool { return n >= 0 })
}

// TooLarge reports the leaves that fit into no space.
func (p *costProblem) tooLarge() []error {
	var errs []error
	for i := range p.leaves {
		var most int64
		ok := false
		for s, may := range p.Leaves[i].Spaces {
			ok = ok || may && (p.limits[s] < 0 || p.Leaves[i].Bytes <= p.limits[s])
			if n := p.largest(s); n < p.Leaves[i].Bytes { // other reasons exclude a space that holds it
				most = max(most, n)
			}
		}
		if !ok {
			errs = append(errs, &pass.BudgetError{
				Name: p.leaves[i].key.String(), Need: p.Leaves[i].Bytes, Limit: most, Own: len(p.a.c.Options.MaxMemory) == 0,
				Advice: "no memory takes it whole: quantize it, or allow more",
			})
		}
	}
	return errs
}

// largest returns the bytes of the largest allocation that there may be in a space; -1 is
// no limit.
func (p *costProblem) largest(s int) int64 {
	most := p.limits[s]
	if n := p.spaces[s].MaxAlloc; n > 0 && (most < 0 || n < most) {
		most = n
	}
	return most
}

// instances returns how many instances there are of what is copied into a space: those of the
// pass pipeline.
func (p *costProblem) instances(s int) int64 {
	steps := p.a.c.Options.Pipeline
	queued := func(d *target.Descriptor) bool { return d.Home() == p.spaces[s].Name && d.Queues > 0 }
	if steps > 1 && slices.ContainsFunc(p.targets, queued) {
		return int64(steps)
	}
	return 1
}

// room returns the bytes that a value may have of which there are so many instances, one
// behind the other in one allocation; -1 is no limit.
func (p *costProblem) room(s int, instances int64) int64 {
	most := p.largest(s)
	if most < 0 {
		return -1
	}
	align := max(p.spaces[s].Align, 1)
	return max(0, most/instances/align*align-p.spaces[s].Extra)
}

// maxRehearsals is how many assignments of a kind go through the passes that follow, so that
// their memory is that of a real plan.
const maxRehearsals = 6

// fitWork is placement.Options.Work of each of them.
const fitWork = 200_000

// solve returns the best assignment whose plan keeps the limits, or one that comes near
// them. Weights that are copied in every step take room of activations, and how much is not
// known before: there may be a better assignment that copies none.
func (p *costProblem) solve() *placement.Result {
	starts := p.starts()
	if !p.limited() {
		return placement.Solve(p.a.c.Ctx, &p.Problem, starts, placement.Options{})
	}
	best, first := p.fit(starts)
	if !best.Fits() || p.streams(best.Labels) {
		p.Stay = true
		if r, _ := p.fit(starts); betterFit(r, best) {
			best = r
		}
	}
	if !best.Fits() && p.noStores() {
		p.Stay = false
		if r, _ := p.fit(starts); betterFit(r, best) {
			best = r
		}
	}
	// Only the first had all that the limits allow: its bound is the module's.
	best.Proved = best.Proved && best == first
	best.Bound = first.Bound
	return best
}

// noStores keeps leaves out of the memory of devices that run nothing which reads them, where they
// are only stored: what is copied from there by a queue is there early, and takes room meanwhile.
// It reports whether any could lie in such.
func (p *costProblem) noStores() (some bool) {
	host := p.Targets[len(p.Targets)-1].Home
	useful := make([][]bool, len(p.Leaves))
	for i := range useful {
		useful[i] = make([]bool, len(p.spaces))
		useful[i][host] = true
	}
	for i := range p.Nodes {
		for _, v := range p.Nodes[i].Reads {
			leaf := int(p.Values[v].Owner) - len(p.Nodes)
			if leaf < 0 {
				continue
			}
			for t, seconds := range p.Nodes[i].Seconds {
				useful[leaf][p.Targets[t].Home] = useful[leaf][p.Targets[t].Home] || seconds < placement.Never
			}
		}
	}
	for i := range p.Leaves {
		l := &p.Leaves[i]
		left := slices.Clone(l.Spaces)
		for s := range left {
			left[s] = left[s] && useful[i][s]
		}
		if slices.Contains(left, true) && !slices.Equal(left, l.Spaces) {
			l.Spaces, some = left, true
		}
	}
	return some
}

// streams reports whether leaves are copied into spaces that have limits.
func (p *costProblem) streams(labels []int32) bool {
	for i := range p.Nodes {
		t := &p.Targets[labels[i]]
		for _, v := range p.Nodes[i].Reads {
			o := p.Values[v].Owner
			if o >= int32(len(p.Nodes)) && p.limits[t.Home] >= 0 && !t.Addresses[labels[o]] {
				return true
			}
		}
	}
	return false
}

// fit looks for an assignment whose plan keeps the limits. How much activations, inputs and
// outputs take is known only from the plan of an assignment: what is left for weights and
// states follows from the plan before. The first result is that with nothing reserved.
func (p *costProblem) fit(starts [][]int32) (best, first *placement.Result) {
	reserve := make([]int64, len(p.spaces))
	tried := slices.Clone(reserve) // the last with which leaves found a place
	room, copyRoom := slices.Clone(p.Room), slices.Clone(p.CopyRoom)
	defer func() { p.Room, p.CopyRoom = room, copyRoom }()
	for rehearsals, solved := 0, 0; rehearsals < maxRehearsals && solved < 2*maxRehearsals; solved++ {
		p.Limits = p.without(reserve)
		r := placement.Solve(p.a.c.Ctx, &p.Problem, starts, placement.Options{Work: fitWork})
		again := false
		if !r.Fits() {
			again = p.relent(reserve, tried)
		} else {
			rehearsals++
			copy(tried, reserve)
			need, _, err := p.rehearse(r.Labels, pass.CopySet{})
			if err != nil {
				return r, r // the error comes again where it belongs
			}
			if again = p.learn(reserve, need, r); !r.Fits() {
				p.partCopies(r)
			}
		}
		if first == nil {
			first = r
		}
		if best == nil || betterFit(r, best) {
			best = r
		}
		if !again {
			break
		}
	}
	return best, first
}

// betterFit reports whether r is to be preferred: it fits and takes less time than another that
// does, or it lacks less.
func betterFit(r, than *placement.Result) bool {
	lacks, thanLacks := sumOf(r.Over), sumOf(than.Over)
	switch {
	case r.Fits() != than.Fits():
		return r.Fits()
	case r.Fits():
		return r.Seconds < than.Seconds
	}
	return lacks > 0 && (thanLacks == 0 || lacks < thanLacks) // what cannot run at all lacks nothing
}

// partCopies notes in r that its plan keeps the limits after all where some values are copied twice,
// and how much longer it takes, if that is so.
func (p *costProblem) partCopies(r *placement.Result) {
	need, seconds, err := p.rehearse(r.Labels, nil)
	if err != nil {
		return
	}
	for s, limit := range p.limits {
		if limit >= 0 && need[s] > limit {
			return
		}
	}
	clear(r.Over)
	r.Seconds += seconds
	r.Proved = false
}

// without returns the limits less what is reserved.
func (p *costProblem) without(reserve []int64) []int64 {
	limits := slices.Clone(p.limits)
	for s := range limits {
		if limits[s] >= 0 {
			limits[s] = max(0, limits[s]-reserve[s])
		}
	}
	return limits
}

// littleRoom is which part of a limit has to be free for another assignment to be tried that
// might use it.
const littleRoom = 64

// relent reserves less, half way back to what was tried before, as nothing is left for leaves. It
// reports whether that is another matter.
func (p *costProblem) relent(reserve, tried []int64) (again bool) {
	for s, limit := range p.limits {
		if more := reserve[s] - tried[s]; limit >= 0 && more > limit/littleRoom {
			reserve[s] = tried[s] + more/2
			again = true
		}
	}
	return again
}

// learn compares what a plan needs with the limits and reserves what it needs besides
// leaves; where that alone is too much, values that are half as large have to do. It notes
// in r what does not fit, and reports whether another assignment may be better: this one
// does not fit, or more was reserved than it needs.
func (p *costProblem) learn(reserve, need []int64, r *placement.Result) (again bool) {
	leaves := p.leafBytes(r.Labels)
	for s, limit := range p.limits {
		if limit < 0 {
			continue
		}
		besides := max(0, need[s]-leaves[s])
		r.Over[s] = max(0, need[s]-limit)
		switch {
		case r.Over[s] > 0:
			reserve[s] = min(limit, max(besides, reserve[s]+r.Over[s]))
			if besides > limit {
				p.Room[s] /= 2
				p.CopyRoom[s] /= 2
			}
			again = true
		case reserve[s]-besides > limit/littleRoom:
			reserve[s] = besides
			again = true
		}
	}
	return again
}

// leafBytes returns the bytes of leaves in each space.
func (p *costProblem) leafBytes(labels []int32) []int64 {
	sum := make([]int64, len(p.spaces))
	for i := range p.Leaves {
		sum[labels[len(p.Nodes)+i]] += p.Leaves[i].Bytes
	}
	return sum
}

// rehearse runs the passes up to plan on a copy of the module with an assignment, and
// returns the bytes of the plan in each space, and how long the copies take that are there
// twice to keep limits. With apart none is, unless it names it.
func (p *costProblem) rehearse(labels []int32, apart pass.CopySet) (need []int64, seconds float64, err error) {
	m := p.a.m.Clone()
	again := newAssigner(p.a.c, m)
	p.apply(again, labels)
	again.place()
	m.Props |= p.a.c.Pass.Gives
	m.Last = p.a.c.Pass.Name
	if err := p.a.c.TryPlan(m, apart); err != nil {
		return nil, 0, err
	}
	p.a.c.Count("rehearsals", 1)
	need = make([]int64, len(p.spaces))
	for space, bytes := range flow.SpaceBytes(m.Plan) {
		if s, ok := p.index[space]; ok {
			need[s] = bytes
		}
	}
	return need, flow.ApartSeconds(p.a.c, m), nil
}

// shortage says which limits no assignment was found to keep, by how much, and what would
// be enough: what the best one takes, though another may take less. It is empty if the plan of
// the best one keeps them after all.
func (p *costProblem) shortage(r *placement.Result) []error {
	defer func(stay bool) { p.Stay = stay }(p.Stay)
	need, _, err := p.rehearse(r.Labels, pass.CopySet{})
	if err != nil || sumOf(r.Over) == 0 {
		if need, err = p.raised(); err != nil || !p.exceeded(need) {
			return p.impossible(r.Labels)
		}
	}
	enough, sure := p.enough(need)
	var errs []error
	var options []string
	for s, limit := range p.limits {
		if enough[s] == limit {
			continue
		}
		name, own := p.limitName(s), limit == p.spaces[s].Memory
		option := fmt.Sprintf("--max-memory %s=%d", name, enough[s])
		if own {
			option = fmt.Sprintf("memory=%d of %s", enough[s], name)
		}
		options = append(options, option)
		errs = append(errs, &pass.BudgetError{Name: name, Need: enough[s], Limit: limit, Own: own, Enough: true})
	}
	advice := strings.Join(options, " ") + " would be enough"
	if !sure {
		advice = "try " + strings.Join(options, " ") + " or more"
	}
	for _, e := range errs {
		e.(*pass.BudgetError).Advice = advice + "; or lower --ctx or --batch, or quantize"
	}
	return errs
}

// fewRaises is how often limits are raised until an assignment keeps them.
const fewRaises = 4

// enough returns limits, none lower than those of the problem, with which an assignment is found
// that keeps them, beginning with what a plan needs; sure is false if there is still none in the
// end. With other limits other assignments come up, so that what the best of one search needs
// need not be enough for another.
func (p *costProblem) enough(need []int64) (limits []int64, sure bool) {
	was := p.limits
	defer p.limit(was)
	need = slices.Clone(need)
	for range fewRaises {
		limits = slices.Clone(was)
		for s := range limits {
			if was[s] >= 0 {
				limits[s] = max(was[s], need[s])
			}
		}
		p.limit(limits)
		p.Stay = false
		r := p.solve()
		if r.Fits() {
			return limits, true
		}
		more, _, err := p.rehearse(r.Labels, pass.CopySet{})
		if err != nil {
			break
		}
		for s := range need {
			need[s] = max(need[s], more[s])
		}
	}
	return limits, false
}

// raises is how often raised multiplies limits by raise, which begins with what holds something
// and ends with more than there is.
const (
	raises, raise = 8, 8
	leastLimit    = 1 << 10
	mostLimit     = 1 << 50
)

// raised returns what a plan needs that is found when all limits are raised by the same factor, the
// least that is enough: little more than has to be.
func (p *costProblem) raised() (need []int64, err error) {
	was := p.limits
	defer p.limit(was)
	p.Stay = false
	limits := slices.Clone(was)
	for range raises {
		for s, limit := range limits {
			if limit >= 0 {
				limits[s] = min(max(limit, leastLimit), mostLimit/raise) * raise
			}
		}
		p.limit(slices.Clone(limits))
		if r := p.solve(); r.Fits() {
			need, _, err = p.rehearse(r.Labels, pass.CopySet{})
			return need, err
		}
	}
	return nil, errors.New("nor with limits as high")
}

// exceeded reports whether some limit is below what is needed.
func (p *costProblem) exceeded(need []int64) bool {
	for s, limit := range p.limits {
		if limit >= 0 && need[s] > limit {
			return true
		}
	}
	return false
}

func sumOf(list []int64) (sum int64) {
	for _, n := range list {
		sum += n
	}
	return sum
}

// impossible names the nodes of an assignment that cannot run where they are, where no
// assignment was found in which all can.
func (p *costProblem) impossible(labels []int32) []error {
	var errs []error
	written := make([]int64, len(p.spaces)) // bytes that have no room where nodes write them
	seen := make(map[int32]bool)
	for i, n := range p.nodes {
		if space, out := p.outOfReach(i, labels); out {
			t := p.targets[labels[i]]
			if owner, home := p.Values[p.Nodes[i].Writes].Owner, p.Targets[labels[i]].Home; p.limits[home] >= 0 && owner >= int32(len(p.Nodes)) {
				if !seen[owner] {
					written[home] += p.Leaves[owner-int32(len(p.Nodes))].Bytes
				}
				seen[owner] = true
				continue
			}
			if !p.pinned(p.Values[p.Nodes[i].Writes].Owner) {
				continue // another labelling of what is not said could run it
			}
			errs = append(errs, fmt.Errorf("@%s %v: it writes %v, which lies in %s, and %s, which is to run it, does not address that: pin all nodes that write it to targets of one memory",
				n.Func.Name, n, writtenBy(n), p.spaces[space].Name, t.Name))
		}
	}
	for s, bytes := range written {
		if need := bytes + p.leafBytes(labels)[s]; bytes > 0 && need > p.limits[s] {
			errs = append(errs, &pass.BudgetError{Name: p.limitName(s), Need: need, Limit: p.limits[s], Own: p.limits[s] == p.spaces[s].Memory,
				Advice: "what nodes write in place lies where they run, and there is no room for all of it: lower --ctx, allow more, or pin the nodes that write it elsewhere"})
		}
	}
	if len(errs) == 0 {
		errs = append(errs, p.largestValue())
	}
	return errs
}

// outOfReach returns the space of what node i writes in place, if the target that is to run the
// node does not address it.
func (p *costProblem) outOfReach(i int, labels []int32) (space int, out bool) {
	v := p.Nodes[i].Writes
	if p.nodes[i] == nil || v < 0 {
		return 0, false
	}
	owner, space := p.Values[v].Owner, int(p.Values[v].Space)
	if owner >= int32(len(p.Nodes)) {
		space = int(labels[owner])
	} else if owner >= 0 {
		space = p.Targets[labels[owner]].Home
	}
	return space, !p.Targets[labels[i]].Addresses[space]
}

// whyNot says in some words why nothing runs as the labels say.
func (p *costProblem) whyNot(labels []int32) string {
	for i, n := range p.nodes {
		if n == nil {
			continue
		}
		if p.Nodes[i].Seconds[labels[i]] == placement.Never {
			return "cannot: " + p.notRun(n, p.targets[labels[i]])
		}
		if space, out := p.outOfReach(i, labels); out {
			return fmt.Sprintf("cannot: %v writes what lies in %s", n, p.spaces[space].Name)
		}
	}
	return "does not fit"
}

// pinned reports whether a node that writes the bytes of a variable has its backend from elsewhere.
func (p *costProblem) pinned(owner int32) bool {
	for i := range p.Nodes {
		if v := p.Nodes[i].Writes; p.given[i] && v >= 0 && p.Values[v].Owner == owner {
			return true
		}
	}
	return false
}

// notRun says why a target may not run a node.
func (p *costProblem) notRun(n *ir.Node, t *target.Descriptor) string {
	if ok, why := t.Supports(n); !ok {
		return why
	}
	return fmt.Sprintf("%v may not run on %s", n, t.Name)
}

// largestValue names the value that lacks most where a target can make it that has most room.
func (p *costProblem) largestValue() error {
	e := &pass.BudgetError{Name: "all of it together", Own: len(p.a.c.Options.MaxMemory) == 0,
		Advice: "no assignment was found in which every node has memory for its values: lower --ctx or --batch, or allow more"}
	for i, n := range p.nodes {
		if n == nil || n.Result() == nil {
			continue
		}
		need, limit := n.Result().Type.MaxBytes(), p.mostRoom(i)
		if limit >= 0 && need-limit > e.Need-e.Limit {
			e.Name, e.Need, e.Limit = fmt.Sprintf("@%s %v", n.Func.Name, n), need, limit
			e.Advice = "no target that runs the node has memory for its result: lower --ctx or --batch, or allow more"
		}
	}
	return e
}

// mostRoom returns the most bytes that there are for a value where node i may run; -1 where any fits.
func (p *costProblem) mostRoom(i int) int64 {
	var most int64
	for t, seconds := range p.Nodes[i].Seconds {
		if seconds == placement.Never {
			continue
		}
		n := p.largest(p.Targets[t].Home)
		if n < 0 {
			return -1
		}
		most = max(most, n)
	}
	return most
}

// limitName returns the name under which the user knows the limit of a space.
func (p *costProblem) limitName(s int) string {
	name := p.spaces[s].Name
	if _, named := p.a.c.Options.MaxMemory[name]; named {
		return name
	}
	for _, d := range p.targets {
		if d.Home() == name {
			return d.Name
		}
	}
	return name
}
