package check

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
)

// trace is one call of an entry point, laid out: the steps in the order of the program, iteration after iteration, and
// the objects that they read and leave.
//
// The entry point
//
//	%a = silu %x
//	%r = repeat %a {count=2, carried=1}
//	  body(%h) { %n = neg %h; return %n }
//	%v = reshape %r
//	%y = exp %v
//
// has the trace
//
//	step   node   frame         reads   leaves
//	0      %a     f             x       a
//	1      %n     f/body[0]     a       n0
//	2      %n     f/body[1]     n0      n1
//	3      %y     f             n1      y
//
// The parameter %h, the repeat's result %r and the view %v have no objects of their own: they are names of a, n0 and
// n1.
type trace struct {
	f       *ir.Func
	steps   []step
	objects []*object
	returns []*object // what the caller reads afterwards; nil where nothing defines a result
}

// step is one execution of a node. (What users call a step, one turn of a program that computes a token, is a call
// here.)
type step struct {
	index   int // in the trace
	node    *ir.Node
	frame   *frame
	args    []*object // nil for operands that are absent or that nothing has defined
	results []*object
	own     *owners // of the node's operands and results

	barrier bool      // all workers meet before the step
	waits   []ir.Wait // of repeats that begin with the step: worker 0 waits, besides what the node itself waits for
}

// object is one version of the contents of some bytes: what one execution of a node leaves there, or what is there
// before the call. Each write makes an object, so that an object never changes.
type object struct {
	val     *ir.Value
	frame   *frame
	kind    objectKind
	place   ir.Place   // all bytes that are reserved, in the call that is executed
	class   ir.Class   // of the arena
	several *instances // nil where there is one
	cells   cells      // the bytes of place, in the layout
	last    int        // the last step that reads the object; the number of steps where the caller does; -1 for no step
}

type objectKind uint8

const (
	made   objectKind = iota // by a node
	input                    // a parameter of the entry point
	given                    // a leaf of a foreign graph: from the caller, and free after its last read
	weight                   // or a constant
	state                    // as it is before the call
)

// frame is one execution of a function: of the entry point, or one iteration of a body.
type frame struct {
	f         *ir.Func
	up        *frame
	iteration int64
	objects   []*object // by value id
}

func newFrame(f *ir.Func, up *frame, iteration int64) *frame {
	return &frame{f: f, up: up, iteration: iteration, objects: make([]*object, f.NumValues())}
}

// String returns the way to the frame, such as decode/layers[3].
func (f *frame) String() string {
	if f.up == nil {
		return f.f.Name
	}
	return fmt.Sprintf("%v/%s[%d]", f.up, f.f.Name, f.iteration)
}

// accessKind is what a step does to an object.
type accessKind uint8

const (
	reading accessKind = iota
	writing
)

func (k accessKind) String() string {
	if k == writing {
		return "writes"
	}
	return "reads"
}

// describe names a step and where it runs.
func (st *step) describe() string {
	where := "host"
	if q := st.node.Queue(); q != "" {
		where = q
	}
	return fmt.Sprintf("%v of @%v (%s)", st.node, st.frame, where)
}

// String describes the object; nil denotes bytes that nothing has written.
func (o *object) String() string {
	if o == nil {
		return "what nothing has written"
	}
	return fmt.Sprintf("%v of @%v", o.val, o.frame)
}

// ownBytes reports whether the results of a node have bytes of their own. Those of an alias, and of a foreign node that
// works in place, are new contents of bytes that an operand names.
func ownBytes(n *ir.Node) bool { return n.Op != ir.OpForeign && !n.Is(ir.Alias) }

// waitsOf returns what a node waits for.
func waitsOf(n *ir.Node) []ir.Wait {
	if n.Submit == nil {
		return nil
	}
	return n.Submit.Waits
}

// noteLastReads sets the last read of each object. Inputs and results are the caller's for the whole call. The last
// version of a state is read by the next call; that it stays is the claim of overlap.go about states.
func (t *trace) noteLastReads() {
	for i := range t.steps {
		for _, o := range t.steps[i].args {
			if o != nil {
				o.last = i
			}
		}
	}
	for _, o := range t.objects {
		if o.kind == input {
			o.last = len(t.steps)
		}
	}
	for _, o := range t.returns {
		if o != nil {
			o.last = len(t.steps)
		}
	}
}
