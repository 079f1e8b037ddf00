package target

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// Supports reports whether the backend can run the node after pack has converted its operands to the kernel's formats,
// and if not, why.
//
// Example: the processor's first rows for matmul are
//
//	matmul(q8a,q8_0|q4_0.r16,f32)
//	matmul(q8a_k,q4_k|q6_k.r16,f32)
//	matmul(bf16,bf16.r16,f32)
//	matmul(f32,f32|f16.r16,f32)
//
// A product of f32 activations and a plain q4_0 weight fits the first row: pack can quantize the activations to q8a and
// lay out the weight as r16. A product with an i8 weight fits none, as pack cannot convert i8. The reason names the
// operand of the last row that was tried.
func (d *Descriptor) Supports(n *ir.Node) (bool, string) {
	if free(n) {
		return true, ""
	}
	_, why := d.Kernel(n)
	return why == "", why
}

// free reports whether a node needs no kernel: it does no work, or its work is that of the nodes of its body.
func free(n *ir.Node) bool {
	return n.Traits()&(ir.Leaf|ir.View|ir.HasBody) != 0 || n.Op == ir.OpCall
}

// Kernel returns the row that runs the node after pack has converted its operands to the row's formats. Without such a
// row it returns why.
func (d *Descriptor) Kernel(n *ir.Node) (row *Row, why string) {
	last := misfit{operand: -1}
	known := false
	for i := range d.Rows {
		r := &d.Rows[i]
		if !r.names(n) {
			continue
		}
		m := d.fits(r, n)
		if m.none() {
			return r, ""
		}
		last, known = m, true
	}
	switch {
	case !known:
		return nil, fmt.Sprintf("%s has no kernel for %s", d.Name, opName(n))
	case last.operand >= 0:
		operand := n.Sources()[last.operand]
		return nil, fmt.Sprintf("%s: %s: operand %d %v %s", d.Name, opName(n), last.operand, operand, last.why(n))
	}
	return nil, fmt.Sprintf("%s: %s: %s", d.Name, opName(n), last.text)
}

// misfit is why a row cannot run a node. The text for an operand is made later, when no other row fits either.
type misfit struct {
	operand  int      // which pack cannot convert; -1 for another reason
	obstacle obstacle // of the operand
	text     string   // the other reason
}

// none reports whether the row fits.
func (m *misfit) none() bool { return m.obstacle == noObstacle && m.text == "" }

// why describes the obstacle of the operand, without the operand's name.
func (m *misfit) why(n *ir.Node) string { return m.obstacle.of(n.Sources()[m.operand]) }

// Refusal returns a short reason why the backend does not run the node, such as "gpu: no q4_0 x f16 matmul"; empty if
// it runs the node. It names no value, so nodes of one op with operands of the same types get the same text.
func (d *Descriptor) Refusal(n *ir.Node) string {
	if ok, _ := d.Supports(n); ok {
		return ""
	}
	last := misfit{operand: -1}
	known := false
	for i := range d.Rows {
		if r := &d.Rows[i]; r.names(n) {
			last, known = d.fits(r, n), true
		}
	}
	switch {
	case !known:
		return fmt.Sprintf("%s: no %s", d.Name, opName(n))
	case last.operand >= 0:
		return fmt.Sprintf("%s: no %s %s (operand %d %s)", d.Name, dtypes(n), opName(n), last.operand, last.why(n))
	}
	return fmt.Sprintf("%s: no such %s: it %s", d.Name, opName(n), last.text)
}

// dtypes returns the dtypes of the node's operands as a product, such as f32 x q4_0.
func dtypes(n *ir.Node) string {
	var names []string
	for _, a := range n.Sources() {
		if a != nil {
			names = append(names, a.Type.DType.String())
		}
	}
	return strings.Join(names, " x ")
}

// Reads reports whether some kernel reads the node's operands as they are, without a conversion. This holds for every
// node after pack.
func (d *Descriptor) Reads(n *ir.Node) bool {
	if free(n) {
		return true
	}
	for i := range d.Rows {
		if r := &d.Rows[i]; r.names(n) && r.reads(n) {
			return true
		}
	}
	return false
}

// names reports whether the row is for the node's op.
func (r *Row) names(n *ir.Node) bool {
	return r.Op == n.Op && (r.Name == "" || r.Name == foreignName(n))
}

// foreignName returns the name of a foreign op in the program that it was imported from; empty for other ops.
func foreignName(n *ir.Node) string {
	if a, ok := n.Attr.(*ir.ForeignAttr); ok {
		return a.Op
	}
	return ""
}

// reads reports whether the kernel reads the node's operands as they are.
func (r *Row) reads(n *ir.Node) bool {
	if r.Args == nil {
		return true
	}
	sources := n.Sources()
	if len(sources) > len(r.Args) {
		return false
	}
	for i, a := range sources {
		if a != nil && !r.Args[i].Holds(a.Type) {
			return false
		}
	}
	return r.Check == nil || r.Check(n) == ""
}

// operandNames returns the names of the node's operands from one on, or their numbers where they have no names.
func operandNames(n *ir.Node, from int) string {
	var names []string
	for i := from; i < len(n.Sources()); i++ {
		name := strconv.Itoa(i)
		if args := n.Op.Info().Args; i < len(args) && args[i].Name != "" {
			name = args[i].Name
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// fits returns why the row cannot run the node after pack either; none if it can.
func (d *Descriptor) fits(r *Row, n *ir.Node) misfit {
	if r.Args == nil {
		return misfit{}
	}
	sources := n.Sources()
	if len(sources) > len(r.Args) {
		return misfit{operand: -1, text: "takes no operand " + operandNames(n, len(r.Args))}
	}
	for i, a := range sources {
		if a == nil {
			continue
		}
		if o := d.canMake(a, &r.Args[i]); o != noObstacle {
			return misfit{operand: i, obstacle: o}
		}
	}
	if r.Check != nil {
		return misfit{operand: -1, text: r.Check(n)}
	}
	return misfit{}
}
