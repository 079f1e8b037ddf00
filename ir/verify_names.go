package ir

import "slices"

// Verifier verifies modules as [Verify] does and remembers names: of a function that was
// verified before, only what is new or renamed since is looked up, and of weights nothing while
// their names stay. Where many passes follow each other that saves most of the lookups. The
// zero value is ready; it keeps functions of the last module alive.
type Verifier struct {
	funcs   map[*Func]*knownNames
	weights []string // names that differ from each other and from the empty one
}

// Verify does what [Verify] does, with the same result.
func (r *Verifier) Verify(m *Module) error {
	next := make(map[*Func]*knownNames, len(r.funcs))
	v := &verifier{m: m, symbols: make(map[*Symbol]bool), hasty: true, known: r.funcs, next: next, knowsWeights: r.areWeights(m.Weights)}
	if v.run(); len(v.found) > 0 {
		*r = Verifier{}
		return Verify(m) // names every violation, in order
	}
	r.funcs = next
	if !v.knowsWeights {
		r.weights = r.weights[:0]
		for _, w := range m.Weights {
			r.weights = append(r.weights, w.Name)
		}
	}
	return nil
}

// areWeights reports whether the names of the weights are those that were verified last.
func (r *Verifier) areWeights(ws []*Weight) bool {
	return slices.EqualFunc(r.weights, ws, func(name string, w *Weight) bool { return name == w.Name })
}

// knownNames are the names of a function's values, which differ from each other.
type knownNames struct {
	last, now []string       // by id, when the function was verified last and now; empty for no value
	owner     map[string]int // the id that has a name, if that id still has it
	fresh     []int          // ids whose names are not what they were
	defined   []*Value       // for scope.defined: it is as long each time
}

// start makes room for ids below n.
func (k *knownNames) start(n int) {
	if cap(k.now) < n {
		k.now = make([]string, n)
	}
	if cap(k.defined) < n {
		k.defined = make([]*Value, n)
	}
	k.defined = k.defined[:n]
	clear(k.defined)
	k.now = k.now[:n]
	clear(k.now)
	k.fresh = k.fresh[:0]
}

// note says that the value of an id, which no other has, has a name.
func (k *knownNames) note(id int, name string) {
	k.now[id] = name
	if id >= len(k.last) || k.last[id] != name || name == "" {
		k.fresh = append(k.fresh, id)
	}
}

// finish reports whether the names that were noted differ from each other and from the empty
// one. Those that are not fresh did so before.
func (k *knownNames) finish() bool {
	if k.owner == nil {
		k.owner = make(map[string]int, len(k.fresh))
	}
	for _, id := range k.fresh {
		name := k.now[id]
		if other, used := k.owner[name]; name == "" || used && other != id && other < len(k.now) && k.now[other] == name {
			return false
		}
		k.owner[name] = id
	}
	k.last, k.now = k.now, k.last
	return true
}

// namesOf returns what is known of the names of f; nil where nothing is to be remembered.
func (v *verifier) namesOf(f *Func) *knownNames {
	if v.next == nil {
		return nil
	}
	k := v.known[f]
	if k == nil {
		k = new(knownNames)
	}
	v.next[f] = k
	k.start(f.NumValues())
	return k
}
