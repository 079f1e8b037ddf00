package ir

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Verifier verifies modules as [Verify] does and remembers names: of a function that was
// verified before, only what is new or renamed since is looked up, and of weights nothing while
// their names stay. Where many passes follow each other that saves most of the lookups. The
// zero value is ready; it keeps functions of the last module alive.
//
// Nearly all modules are right. So it first finds out only whether there is anything to say:
// every node is visited once, with all checks that concern it, by as many goroutines as run at
// once. What is wrong with the others is found in order, by a walk that remembers nothing.
type Verifier struct {
	funcs   map[*Func]*known
	weights []string // names that differ from each other and from the empty one

	share int // how many nodes are looked at in one go; 0 is usual

	submitted []*Node // of an entry point that was looked at: room for those of the next one
	selecting []*Node // of the last module: room for those of the next one
}

// usualShare is how many nodes or weights are worth the change to another goroutine.
const usualShare = 2048

// Verify does what [Verify] does, with the same result.
func (r *Verifier) Verify(m *Module) error {
	if r.right(m) {
		return nil
	}
	*r = Verifier{share: r.share}
	if found := violations(m); len(found) > 0 {
		return &VerifyError{found}
	}
	return nil
}

// right reports whether nothing is wrong with m.
func (r *Verifier) right(m *Module) (right bool) {
	defer func() {
		if recover() != nil { // what it met is found by the other walk, or it panics there again
			right = false
		}
	}()
	q := &quick{verifier: newVerifier(m), share: r.share, funcs: r.funcs, next: make(map[*Func]*known, len(r.funcs)), submitted: r.submitted[:0], selecting: r.selecting[:0]}
	if q.share == 0 {
		q.share = usualShare
	}
	r.funcs = q.next
	right = q.members() && q.allWeights(&r.weights) && q.plan() && q.entries() && q.language() && q.indexes()
	r.submitted, r.selecting = q.submitted, q.selecting
	return right
}

// quick is a walk over a module that ends with the first violation; which one that is depends on
// chance.
type quick struct {
	verifier *verifier // of the goroutine that began
	share    int
	broken   atomic.Bool // another goroutine has found something

	funcs, next map[*Func]*known // what is known of functions, and will be the next time
	submitted   []*Node          // none: room for those of an entry point
	selecting   []*Node          // nodes that select rows, of all entry points so far
}

// ok reports whether nothing was found so far.
func (q *quick) ok() bool { return len(q.verifier.found) == 0 && !q.broken.Load() }

// divide calls do for ranges that make up [0,n), each a share long, on as many goroutines as run
// at once, each with a verifier of its own.
func (q *quick) divide(n int, do func(v *verifier, lo, hi int)) {
	var next atomic.Int64
	work := func() {
		v := &verifier{m: q.verifier.m, symbols: q.verifier.symbols}
		defer func() {
			if recover() != nil || len(v.found) > 0 {
				q.broken.Store(true)
			}
		}()
		for len(v.found) == 0 && !q.broken.Load() {
			lo := int(next.Add(int64(q.share))) - q.share
			if lo >= n {
				return
			}
			do(v, lo, min(lo+q.share, n))
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+q.share-1)/q.share) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

// members checks what the module has besides weights and nodes.
func (q *quick) members() bool {
	q.verifier.constants()
	q.verifier.statesAndFuncs()
	return q.ok()
}

// allWeights checks the weights; names are those of the last time, and will be those of this.
func (q *quick) allWeights(names *[]string) bool {
	m, last := q.verifier.m, *names
	placed := m.Props&PropPlaced != 0 && m.Plan != nil
	var renamed atomic.Bool
	q.divide(len(m.Weights), func(v *verifier, lo, hi int) {
		for i, w := range m.Weights[lo:hi] {
			v.weight(w)
			if placed {
				v.member(w.Type, w.Place, ClassWeights)
			}
			if lo+i >= len(last) || last[lo+i] != w.Name {
				renamed.Store(true)
			}
		}
	})
	if renamed.Load() || len(m.Weights) != len(last) {
		*names = q.weightNames(last[:0])
	}
	return q.ok()
}

// weightNames checks the names of the weights and appends them to names.
func (q *quick) weightNames(names []string) []string {
	all := q.verifier.m.Weights
	names = slices.Grow(names, len(all))
	var owners nameTable
	owners.reserve(len(all), nil)
	for i, w := range all {
		names = append(names, w.Name)
		q.verifier.node = w
		q.verifier.must(w.Name != "" && owners.put(i, names) == i, "names", "the name is taken or empty")
	}
	return names
}

// plan checks what the plan says besides of weights and values.
func (q *quick) plan() bool {
	if v := q.verifier; v.m.Props&PropPlaced != 0 && v.hasPlan() {
		v.arenas()
		v.statesPlaced()
		v.numPlans()
	}
	return q.ok()
}

// entries checks the entry points.
func (q *quick) entries() bool {
	v, calls := q.verifier, false
	for i, f := range v.m.Funcs {
		e := &entry{quick: q, submitted: q.submitted, selecting: q.selecting}
		if v.m.Props&PropPlaced != 0 {
			e.plan = &v.m.Plan.Funcs[i]
		}
		e.function(f, nil)
		if !q.ok() {
			return false
		}
		e.together(f)
		q.submitted, q.selecting = e.submitted[:0], e.selecting
		calls = calls || e.calls
	}
	if v.calls = calls; calls {
		v.recursion()
	}
	return q.ok()
}

// indexes checks what selects rows.
func (q *quick) indexes() bool {
	q.verifier.indexes(q.selecting)
	return q.ok()
}

// language checks how the module generates tokens.
func (q *quick) language() bool {
	q.verifier.language()
	return q.ok()
}

// known returns what is known of f.
func (q *quick) known(f *Func) *known {
	k := q.funcs[f]
	if k == nil {
		k = new(known)
	}
	q.next[f] = k
	k.start(f)
	return k
}
