package ir

import "fmt"

// ObserveAttr has the names under which an observe hands its operand out. There is one for each time that the node runs
// in a call: one in an entry point, and one for each iteration in the body of a repeat.
type ObserveAttr struct {
	Names []string `attr:"names"`
}

var observeInfo = OpInfo{
	Name: "observe",
	Doc: "observe(x) {names}: hands x out to the program's observer, under a name for each iteration. There is no result. " +
		"Worker 0 of the host runs it, and the step ends there if the observer returns an error. Pass observe makes these nodes.",
	Args:     []Arg{{Name: "x", Kinds: Float | Int}},
	Attr:     ObserveAttr{},
	InferAll: inferObserve,
	Cost:     moved,
	Tol:      exact,

	Undivided: "it is made after values are divided",
}

func inferObserve(n *Node) ([]Type, error) {
	x := n.Args[0].Type
	if err := needPlain(n, 0); err != nil {
		return nil, err
	}
	if !x.Dense() {
		return nil, argErr(n, 0, "is not dense")
	}
	for _, d := range x.Shape {
		if _, _, _, ok := d.Linear(); !ok {
			return nil, argErr(n, 0, "has the dimension %v, which is not linear in one symbol", d)
		}
	}
	return nil, nil
}

// observes checks an observe: the node comes after assign, it has a name for each iteration, and the entry point lists
// each of them.
func (v *verifier) observes(n *Node) {
	a, ok := n.Attr.(*ObserveAttr)
	if n.Op != OpObserve || !ok || a == nil {
		return
	}
	v.must(v.m.Props&PropAssigned != 0, "observe", "this node comes after pass assign: use --observe")
	entry, times := n.Func, int64(1)
	if owner := n.Func.Owner; owner != nil {
		r, isRepeat := owner.Attr.(*RepeatAttr)
		if !v.must(isRepeat && r != nil && owner.Func.Owner == nil, "observe", "it is neither in an entry point nor in the body of a repeat there") {
			return
		}
		entry, times = owner.Func, r.Count
	}
	v.must(int64(len(a.Names)) == times, "observe", "%s for %s", count(len(a.Names), "name"), times64(times))
	for _, name := range a.Names {
		if !v.observed(entry)[name] {
			v.fail("observe", "@%s does not list %q as observed", entry.Name, name)
		}
	}
}

// observedNames checks the list of a function: names that differ, of an entry point.
func (v *verifier) observedNames(f *Func) {
	v.must(f.Observed == nil || f.Owner == nil, "observe", "a body lists observed values: the entry point does")
	if len(v.observed(f)) != len(f.Observed) {
		v.fail("observe", "a name of an observed value is listed twice")
	}
}

func times64(n int64) string {
	if n == 1 {
		return "1 time"
	}
	return fmt.Sprintf("%d times", n)
}

// observed returns the names that an entry point lists.
func (v *verifier) observed(f *Func) map[string]bool {
	if v.lists[f] == nil {
		if v.lists == nil {
			v.lists = make(map[*Func]map[string]bool)
		}
		v.lists[f] = make(map[string]bool)
		for _, name := range f.Observed {
			v.lists[f][name] = true
		}
	}
	return v.lists[f]
}
