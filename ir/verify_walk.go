package ir

// entry is a quick walk over an entry point and the bodies in it.
type entry struct {
	*quick
	plan *FuncPlan // nil before there is one

	// What nodes leave to be looked at together.
	submitted     []*Node
	selecting     []*Node
	writes, calls bool // some node does
}

// together checks what needs all nodes of the entry point.
func (e *entry) together(f *Func) {
	v := e.verifier
	if v.f, v.node = f, nil; e.plan != nil {
		v.planOf(e.plan)
	}
	v.queues(e.submitted)
	if e.writes {
		v.namedInBodies(f, v.aliases(f))
	}
}

// function checks f, which owner holds as its body, or nobody.
func (e *entry) function(f *Func, owner *Node) {
	w := &walk{entry: e, f: f, known: e.known(f)}
	w.pieces = w.known.emptyPieces((len(f.Nodes) + e.share - 1) / e.share)
	w.begin(owner)
	if !e.ok() {
		return
	}
	e.divide(len(f.Nodes), w.nodes)
	if !e.ok() {
		return
	}
	w.join()
	for i := range w.pieces {
		for _, n := range w.pieces[i].bodies {
			if !e.ok() {
				return
			}
			e.function(n.Body, n)
		}
	}
}

// walk is a quick walk over one function.
type walk struct {
	*entry
	f      *Func
	known  *known
	params piece
	pieces []piece
}

// piece is what some nodes that follow each other leave to be looked at with the others.
type piece struct {
	renamed   []int32     // ids of values
	later     []laterRead // operands that nobody has defined so far
	bodies    []*Node     // that have one
	submitted []*Node
	selecting []*Node // that select rows by an operand

	writes, calls bool // some node does

	first      *Node    // that works; nil for none
	firstEpoch *Node    // that has one to compare, see verifier.epoch; nil for none
	end        progress // at the end, if the first ones follow what is before them
}

// laterRead is an operand of the node that stands at a place in the order.
type laterRead struct {
	val *Value
	at  int
}

// begin checks the function's head and defines its parameters.
func (w *walk) begin(owner *Node) {
	v := w.verifier
	v.f, v.node = w.f, nil
	v.links(owner)
	v.params()
	v.epochs()
	v.resultNames()
	if len(v.found) > 0 {
		return
	}
	for i, p := range w.f.Params {
		v.typ(p.Type)
		w.define(v, &w.params, p, nil, i, 0)
	}
	if v.m.Props&PropPlaced != 0 {
		v.paramsPlaced()
	}
}

// nodes checks the nodes in [lo,hi), which are those of a piece.
func (w *walk) nodes(v *verifier, lo, hi int) {
	p := &w.pieces[lo/w.share]
	v.f = w.f
	for at, n := range w.f.Nodes[lo:hi] {
		v.node = n
		w.node(v, p, n, lo+at)
		if len(v.found) > 0 {
			return
		}
		v.chosen(n)
		p.follow(v, n) // looks into bodies that lead back
		if v.m.Props&PropPlaced != 0 {
			v.results(n)
		}
		if w.plan != nil && w.f.Owner == nil {
			v.planned(n, w.plan)
		}
	}
}

// node checks all of a node but what was decided about it.
func (w *walk) node(v *verifier, p *piece, n *Node, at int) {
	if !v.isOp(n) || !w.meet(v, n) {
		return
	}
	for _, a := range n.Args {
		if a != nil {
			w.read(v, p, a, at)
		}
	}
	if v.operands(n); len(v.found) > 0 {
		return
	}
	for i, r := range n.Results {
		if !v.must(r != nil, "links", "a result is nil") {
			return
		}
		v.typ(r.Type)
		w.define(v, p, r, n, i, at+1)
	}
	if len(v.found) == 0 && v.m.Props&PropShaped != 0 {
		w.known.inferred(v, n)
	}
	p.note(v, n)
}

// meet checks that n belongs to the function and stands there once.
func (w *walk) meet(v *verifier, n *Node) bool {
	if n.Func == w.f && n.ID >= 0 && n.ID < len(w.known.met) && w.known.met[n.ID].CompareAndSwap(false, true) {
		return true
	}
	v.fail("links", "the node belongs to another function or place, or its id %d to another node", n.ID)
	return false
}

// define checks a parameter or result and makes it known to nodes from number at on. Its type is
// checked elsewhere.
func (w *walk) define(v *verifier, p *piece, val *Value, def *Node, index, at int) {
	v.leadsBack(val, def, index)
	k := w.known
	if val.ID < 0 || val.ID >= len(k.defined) || !k.defined[val.ID].CompareAndSwap(nil, val) {
		v.fail("links", "the id %d of %v is taken or out of range", val.ID, val)
		return
	}
	k.from[val.ID].Store(int32(at + 1)) // 0 is for those of which it is not known
	if k.renamed(val) {
		p.renamed = append(p.renamed, int32(val.ID))
	}
}

// read checks that node number at may read a value, as far as that is known.
func (w *walk) read(v *verifier, p *piece, val *Value, at int) {
	switch w.isDefined(val, at) {
	case no:
		v.fail("ssa", "%v is not defined before it is read", val)
	case notYet:
		p.later = append(p.later, laterRead{val, at})
	}
}

// answer is what is known of whether a value is defined somewhere.
type answer uint8

const (
	yes answer = iota
	no
	notYet // it may be said when all nodes have been visited
)

// isDefined tells whether node number at may read a value.
func (w *walk) isDefined(val *Value, at int) answer {
	if val.Func != w.f || val.ID < 0 || val.ID >= len(w.known.defined) {
		return no
	}
	switch w.known.defined[val.ID].Load() {
	case nil:
		return notYet
	case val:
		from := int(w.known.from[val.ID].Load())
		switch {
		case from == 0:
			return notYet
		case from <= at+1:
			return yes
		}
	}
	return no
}

// note takes note of what a node is that has to be looked at with others.
func (p *piece) note(v *verifier, n *Node) {
	if v.body(n) && n.Body != nil && v.must(n.Body.Owner == n, "links", "the body's owner is another node") {
		p.bodies = append(p.bodies, n)
	}
	if n.Submit != nil {
		p.submitted = append(p.submitted, n)
	}
	if n.Op.Info().Traits&Alias != 0 {
		p.writes = true
	}
	if _, ok := n.Attr.(*CallAttr); ok {
		p.calls = true
	}
	if selects(n) {
		p.selecting = append(p.selecting, n)
	}
}

// follow checks that splits and epochs follow those of the nodes before in the piece.
func (p *piece) follow(v *verifier, n *Node) {
	if v.m.Props&PropSplit != 0 && works(n) {
		if p.first == nil {
			p.first = n
			p.end.pass(n)
		} else {
			v.split(n, &p.end)
		}
	}
	if v.m.Props&PropPartitioned != 0 {
		if p.firstEpoch == nil && n.Part.Mode != PartNone {
			p.firstEpoch = n
		}
		v.epoch(n, &p.end)
	}
}

// join checks what needs all pieces.
func (w *walk) join() {
	v := w.verifier
	v.f = w.f
	renamed := make([][]int32, 0, 1+len(w.pieces))
	renamed = append(renamed, w.params.renamed)
	at := progress{split: -1}
	for i := range w.pieces {
		p := &w.pieces[i]
		w.laterReads(p)
		w.follow(p, &at)
		renamed = append(renamed, p.renamed)
		w.submitted = append(w.submitted, p.submitted...)
		w.selecting = append(w.selecting, p.selecting...)
		w.writes, w.calls = w.writes || p.writes, w.calls || p.calls
	}
	v.node = "return"
	v.must(w.known.take(renamed), "names", "some are taken or empty")
	for _, r := range w.f.Results {
		v.must(r != nil && w.isDefined(r, len(w.f.Nodes)) == yes, "ssa", "a result is not defined")
	}
}

// laterReads checks the operands of a piece that were not defined when they were read.
func (w *walk) laterReads(p *piece) {
	for _, r := range p.later {
		w.verifier.must(w.isDefined(r.val, r.at) == yes, "ssa", "%v is not defined before it is read", r.val)
	}
}

// follow checks that splits and epochs of a piece follow those before it.
func (w *walk) follow(p *piece, at *progress) {
	if p.first != nil {
		w.verifier.node = p.first
		w.verifier.split(p.first, at)
		at.split, at.backend = p.end.split, p.end.backend
	}
	if p.firstEpoch != nil {
		w.verifier.node = p.firstEpoch
		w.verifier.epoch(p.firstEpoch, at)
		at.epoch = p.end.epoch
	}
}
