package placement

import (
	"cmp"
	"math"
	"slices"
)

// tree finds the best assignment of a problem from which copies were left out until the
// variables and the values that join them form trees. The time of that assignment, as the
// tree has it, is a lower bound of what any assignment costs where nothing overlaps; where
// nothing had to be left out, as in chains and trees, it is the optimum.
//
// Values join their owner with all their readers. The dearest are taken first. Where
// the readers of one are in trees that are joined already, each reader is tried by itself,
// with its share of the copy: readers in one space need only one copy.
type tree struct {
	g      *graph
	price  []float64 // by space: seconds for each byte of a leaf there
	joints []joint
	joined []int32     // the members of joints
	of     lists       // joints, by variable
	first  []int32     // by variable: its first cost
	cost   []float64   // by variable and position in its labels: of all that hangs below
	up     []int32     // by variable: joint to its parent; -1 at a root
	order  []int32     // parents first
	whole  bool        // nothing was left out: the result is the optimum
	tables [][]float64 // of different joints of two; see crossings
	room   []float64   // for one that is not kept
}

// crossingKey is what the table of a joint depends on; see crossings.
type crossingKey struct {
	bytes, share float64 // the share is weighted
	writes, leaf bool    // the reader changes the value; it lies with a leaf
}

// maxTables bounds the numbers in all tables that are kept.
const maxTables = 1 << 20

// joint is a value that joins variables: its owner, then readers. There are about as many joints as
// variables: their members lie in one list.
type joint struct {
	share      float64 // of the copy
	value      int32
	first, end int32 // of its members
	table      int32 // in tables, of a joint of two; -1 is none
}

// members returns the variables that a joint joins.
func (t *tree) members(j *joint) []int32 { return t.joined[j.first:j.end] }

// costs returns what variable x costs, by position in its labels.
func (t *tree) costs(x int32) []float64 {
	return t.cost[t.first[x]:][:len(t.g.labelsOf(x))]
}

// maxSpaces is up to how many spaces all sets of those that a value may be copied to are
// tried.
const maxSpaces = 4

// newTree returns the tree of a problem.
func newTree(g *graph) *tree {
	t := &tree{g: g, up: make([]int32, g.variables()), whole: true}
	t.join()
	t.tabulate()
	t.of = newLists(g.variables(), func(yield func(key, item int32)) {
		for i := range t.joints {
			for _, x := range t.members(&t.joints[i]) {
				yield(x, int32(i))
			}
		}
	})
	t.direct()
	t.makeRoom()
	return t
}

// join chooses the joints.
func (t *tree) join() {
	sets := newSets(t.g.variables())
	t.joints = make([]joint, 0, t.g.variables()) // each makes two trees one
	t.joined = make([]int32, 0, 2*t.g.variables())
	for _, v := range t.byCost() {
		owner, readers := t.g.Values[v].Owner, t.g.readers.at(v)
		first := len(t.joined)
		t.joined = append(append(t.joined, owner), readers...)
		if members := t.joined[first:]; t.small(len(readers)) && sets.apart(members) {
			t.add(v, first, 1)
			sets.union(members)
			continue
		}
		t.joined = t.joined[:first]
		t.whole = false
		for _, r := range readers {
			if sets.find(owner) != sets.find(r) {
				first := len(t.joined)
				t.joined = append(t.joined, owner, r)
				t.add(v, first, 1/float64(len(readers)))
				sets.union(t.joined[first:])
			}
		}
	}
}

// add adds the joint of the members from one on.
func (t *tree) add(v int32, first int, share float64) {
	t.joints = append(t.joints, joint{share, v, int32(first), int32(len(t.joined)), -1})
}

// small reports whether a joint with so many readers is looked at as a whole.
func (t *tree) small(readers int) bool { return readers == 1 || t.g.spaces <= maxSpaces }

// byCost returns the values that join variables, the dearest to copy first.
func (t *tree) byCost() []int32 {
	var worst Link
	for _, row := range t.g.Links {
		for _, l := range row {
			worst.Delay, worst.PerByte = max(worst.Delay, l.Delay), max(worst.PerByte, l.PerByte)
		}
	}
	list := make([]int32, 0, len(t.g.Values))
	price := make([]float64, len(t.g.Values))
	for i := range t.g.Values {
		v := &t.g.Values[i]
		price[i] = t.g.Steps[v.Step].Weight * (worst.Delay + v.Bytes*worst.PerByte)
		if v.Owner >= 0 && len(t.g.readers.at(int32(i))) > 0 {
			list = append(list, int32(i))
		}
	}
	slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(price[b], price[a]) })
	return list
}

// direct chooses roots and puts variables in an order in which parents come first.
func (t *tree) direct() {
	const open = -2
	t.order = make([]int32, 0, len(t.up))
	for x := range t.up {
		t.up[x] = open
	}
	for root := range t.up {
		if t.up[root] != open {
			continue
		}
		t.up[root] = -1
		first := len(t.order)
		t.order = append(t.order, int32(root))
		for i := first; i < len(t.order); i++ {
			x := t.order[i]
			for _, j := range t.of.at(x) {
				for _, y := range t.members(&t.joints[j]) {
					if t.up[y] == open {
						t.up[y] = j
						t.order = append(t.order, y)
					}
				}
			}
		}
	}
}

// solve returns the best assignment of the tree and its cost, prices included.
func (t *tree) solve(price []float64) ([]int32, float64) {
	t.price = price
	for _, x := range slices.Backward(t.order) {
		t.weigh(x)
	}
	labels := make([]int32, t.g.variables())
	var sum float64
	for _, x := range t.order {
		if t.up[x] < 0 {
			var c float64
			labels[x], c = t.cheapest(x, func(int32) float64 { return 0 })
			sum += c
		}
		for _, j := range t.of.at(x) {
			if j != t.up[x] {
				t.joint(&t.joints[j], x, labels[x], labels)
			}
		}
	}
	return labels, sum
}

// makeRoom gives each variable its costs, of which there are as many as it has labels.
func (t *tree) makeRoom() {
	t.first = make([]int32, t.g.variables())
	n := 0
	for x := range t.first {
		t.first[x] = int32(n)
		n += len(t.g.labelsOf(int32(x)))
	}
	t.cost = make([]float64, n)
}

// weigh finds the cost of a variable with each label and of all that hangs below it.
func (t *tree) weigh(x int32) {
	sums := t.costs(x)
	t.alone(x, sums)
	for _, j := range t.of.at(x) {
		switch joint := &t.joints[j]; {
		case j == t.up[x]:
		case joint.end-joint.first == 2:
			t.addPair(joint, x, sums)
		default:
			for i, label := range t.g.labelsOf(x) {
				sums[i] += t.joint(joint, x, label, nil)
			}
		}
	}
}

// alone finds what each label costs by itself: the node's time, its share of the copies of
// what lies in a fixed place, and the price of a leaf's bytes.
func (t *tree) alone(x int32, sums []float64) {
	labels := t.g.labelsOf(x)
	if t.g.isLeaf(x) {
		for i, label := range labels {
			sums[i] = t.price[label] * float64(t.g.leaf(x).Bytes)
		}
		return
	}
	for i, label := range labels {
		sums[i] = t.g.seconds(x, label) + t.g.misfits(x, label)
	}
	for _, v := range t.g.Nodes[x].Reads {
		if val := &t.g.Values[v]; val.Owner < 0 {
			share := 1 / float64(len(t.g.readers.at(v)))
			for i, label := range labels {
				sums[i] += t.crossing(v, val.Space, x, label, share)
			}
		}
	}
}

// addPair adds to the costs of x, by label, what joint adds for a value with one reader.
func (t *tree) addPair(j *joint, x int32, sums []float64) {
	owner, reader := t.joined[j.first], t.joined[j.first+1]
	below := t.costs(owner)
	if x == owner {
		below = t.costs(reader)
	}
	c := t.crossings(j)
	targets := len(t.g.Targets)
	for i, label := range t.g.labelsOf(x) {
		least := math.Inf(1)
		if x == owner {
			row := c[int(t.g.home(owner, label))*targets:][:targets]
			for k, l := range t.g.labelsOf(reader) {
				least = min(least, below[k]+row[l])
			}
		} else {
			for k, l := range t.g.labelsOf(owner) {
				least = min(least, below[k]+c[int(t.g.home(owner, l))*targets+int(label)])
			}
		}
		sums[i] += least
	}
}

// tabulate makes the tables of joints of two, as many as are kept. Most values are as large as many
// others, and mostly as the one before: their joints share a table.
func (t *tree) tabulate() {
	known := make(map[crossingKey]int32)
	var last crossingKey
	number := int32(-1) // of last
	for i := range t.joints {
		j := &t.joints[i]
		if j.end-j.first != 2 {
			continue
		}
		if key := t.keyOf(j); number < 0 || key != last {
			k, ok := known[key]
			if !ok {
				if (len(t.tables)+1)*t.g.spaces*len(t.g.Targets) > maxTables {
					continue
				}
				k = int32(len(t.tables))
				known[key] = k
				t.tables = append(t.tables, t.appendCrossings(nil, j))
			}
			last, number = key, k
		}
		j.table = number
	}
}

func (t *tree) keyOf(j *joint) crossingKey {
	v, reader := j.value, t.joined[j.first+1]
	val := &t.g.Values[v]
	return crossingKey{val.Bytes, j.share * t.g.Steps[val.Step].Weight, t.g.Nodes[reader].Writes == v, t.g.leafOf(v) >= 0}
}

// crossings returns what it costs the reader of a joint of two that the value lies in a space, by space and
// target of the reader. It holds until the next call.
func (t *tree) crossings(j *joint) []float64 {
	if j.table >= 0 {
		return t.tables[j.table]
	}
	t.room = t.appendCrossings(t.room[:0], j)
	return t.room
}

func (t *tree) appendCrossings(c []float64, j *joint) []float64 {
	for from := range int32(t.g.spaces) {
		for target := range int32(len(t.g.Targets)) {
			c = append(c, t.crossing(j.value, from, t.joined[j.first+1], target, j.share))
		}
	}
	return c
}

// crossing is what it costs reader x on a target that v lies in a space.
func (t *tree) crossing(v, from, x, target int32, share float64) float64 {
	if t.g.reaches(target, from) {
		return 0
	}
	if t.g.Nodes[x].Writes == v {
		return broken
	}
	w := t.g.Steps[t.g.Values[v].Step].Weight
	return share * w * t.g.copySeconds(v, from, int32(t.g.Targets[target].Home))
}

// cheapest returns the label of x with the least cost, more included.
func (t *tree) cheapest(x int32, more func(label int32) float64) (int32, float64) {
	best, cost := int32(-1), math.Inf(1)
	costs := t.costs(x)
	for i, label := range t.g.labelsOf(x) {
		if c := costs[i] + more(label); c < cost || best < 0 {
			best, cost = label, c
		}
	}
	return best, cost
}

// joint returns the least cost of a joint and of what hangs below its other members, where
// member x has a label. It writes the labels that lead to it, if labels is not nil.
func (t *tree) joint(j *joint, x, label int32, labels []int32) float64 {
	if j.end-j.first == 2 {
		return t.pair(j, x, label, labels)
	}
	best, bestOwner, bestSet, first := math.Inf(1), label, 0, t.joined[j.first]
	for _, owner := range t.g.labelsOf(first) {
		if x == first && owner != label {
			continue
		}
		for set := range 1 << t.g.spaces {
			if c := t.spread(j, x, label, owner, set, nil); c < best {
				best, bestOwner, bestSet = c, owner, set
			}
		}
	}
	if labels != nil {
		t.spread(j, x, label, bestOwner, bestSet, labels)
	}
	return best
}

// pair is joint for a value with one reader.
func (t *tree) pair(j *joint, x, label int32, labels []int32) float64 {
	owner, reader := t.joined[j.first], t.joined[j.first+1]
	other := reader
	if x == reader {
		other = owner
	}
	c, targets := t.crossings(j), int32(len(t.g.Targets))
	best, cost := t.cheapest(other, func(l int32) float64 {
		if x == reader {
			return c[t.g.home(owner, l)*targets+label]
		}
		return c[t.g.home(owner, label)*targets+l]
	})
	if labels != nil {
		labels[other] = best
	}
	return cost
}

// spread is the cost of a joint where its owner has a label, and copies lie in a set of
// spaces.
func (t *tree) spread(j *joint, x, label, owner int32, set int, labels []int32) float64 {
	members := t.members(j)
	from := t.g.home(members[0], owner)
	if set&(1<<from) != 0 {
		return math.Inf(1)
	}
	var sum float64
	w := t.g.Steps[t.g.Values[j.value].Step].Weight
	for to := range t.g.spaces {
		if set&(1<<to) != 0 {
			sum += w * t.g.copySeconds(j.value, from, int32(to))
		}
	}
	reads := func(r, target int32) float64 {
		switch {
		case t.g.reaches(target, from):
			return 0
		case t.g.Nodes[r].Writes == j.value:
			return broken
		case set&(1<<t.g.Targets[target].Home) != 0:
			return 0
		}
		return math.Inf(1)
	}
	if x != members[0] {
		i := slices.Index(t.g.labelsOf(members[0]), owner)
		sum += t.costs(members[0])[i]
		if labels != nil {
			labels[members[0]] = owner
		}
	}
	for _, r := range members[1:] {
		if r == x {
			sum += reads(r, label)
			continue
		}
		best, c := t.cheapest(r, func(l int32) float64 { return reads(r, l) })
		sum += c
		if labels != nil {
			labels[r] = best
		}
	}
	return sum
}

// sets are disjoint sets of variables.
type sets []int32

func newSets(n int) sets {
	s := make(sets, n)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}

func (s sets) find(x int32) int32 {
	for s[x] != x {
		s[x] = s[s[x]]
		x = s[x]
	}
	return x
}

// apart reports whether the variables are in different sets, each in its own.
func (s sets) apart(xs []int32) bool {
	if len(xs) == 2 { // as in most joints
		return s.find(xs[0]) != s.find(xs[1])
	}
	roots := make(map[int32]bool, len(xs))
	for _, x := range xs {
		r := s.find(x)
		if roots[r] {
			return false
		}
		roots[r] = true
	}
	return true
}

func (s sets) union(xs []int32) {
	for _, x := range xs[1:] {
		s[s.find(x)] = s.find(xs[0])
	}
}
