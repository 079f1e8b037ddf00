package compare

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// held is a value that a program has. Of a group, several devices may each have all of it.
type held struct {
	eval.Tensor
	device  int       // that has it; -1: the one with its name, or all together
	devices []string  // their names
	state   *ir.Parts // of a value that is put together from parts, here or in the program
	shown   int       // the device whose elements it has where several devices have them; -1: no two have
}

// side reads the values of the steps of a program, or of the definition.
type side interface {
	// values returns what there is of the value of n, or why there is nothing.
	values(n *ir.Node) (list []held, missing string, err error)

	// tolerance returns the tolerance of a value by its name.
	tolerance(name string) float64

	// limit returns the largest difference that an element of a value may have to the other side's, whose tolerance is
	// other; 0 if there is no limit.
	limit(name string, other float64) float64
}

// stepOf is a step of a program.
type stepOf struct {
	p    *Program
	s    *Step
	f    *ir.Func
	part map[string]string // indexes of parts
	tols map[string]float64

	// covered are the rounded operands of products whose roundings the other side has as well.
	covered map[*ir.Value]bool
}

func (p *Program) step(s *Step) *stepOf {
	f := p.Module.Func(s.Func)
	return &stepOf{p: p, s: s, f: f, part: f.PartIndexes(), covered: make(map[*ir.Value]bool)}
}

func (x *stepOf) tolerance(name string) float64 {
	if x.tols == nil {
		x.tols = tolerances(x.f, x.covered)
		for _, parts := range x.f.Parts {
			for _, name := range parts.Names {
				x.tols[parts.Of] = max(x.tols[parts.Of], x.tols[name])
			}
		}
	}
	return x.tols[name]
}

// values returns the value with the name of n and the copies of other devices. If there are none, it puts the value
// together from what the devices have.
func (x *stepOf) values(n *ir.Node) (list []held, missing string, err error) {
	name := n.Result().Name()
	t, ok, err := x.s.value(name + x.part[name])
	parts := x.f.PartsOf(name)
	if ok {
		h := held{Tensor: t, device: -1, devices: x.p.Devices, shown: -1}
		if gathered(parts) {
			h.state = &parts[0]
		}
		list = append(list, h)
	}
	for _, p := range parts {
		for j, copied := range p.Names {
			if !isCopied(p.State) || copied == "" || copied == name || err != nil {
				continue
			}
			if t, ok, err = x.s.value(copied + x.part[copied]); ok {
				list = append(list, held{Tensor: t, device: j, devices: x.p.Devices, shown: -1})
			}
		}
	}
	if len(list) > 0 || err != nil {
		return list, "", err
	}
	missing = whyMissing(x.f, n)
	for _, p := range parts {
		if isCopied(p.State) {
			continue
		}
		list, why, err := x.together(p)
		if err != nil {
			return nil, "", fmt.Errorf("%v: %w", p, err)
		}
		if why == "" {
			return list, "", nil
		}
		missing = why
	}
	return nil, x.p.Name + ": " + missing, nil
}

// isCopied reports whether each device that has something of a value has all of it.
func isCopied(s ir.Sharding) bool { return s.Kind == ir.ShardMirrored || s.Kind == ir.ShardHeld }

// gathered reports whether devices have computed parts of a value, and then got those of all. A value of which they
// take parts has its parts last.
func gathered(parts []ir.Parts) bool {
	return len(parts) > 1 && parts[0].State.IsSplit() && parts[1].State.Kind == ir.ShardMirrored
}

// together puts a value together from what the devices have: it adds summands in the order of devices, and puts the
// parts of a split axis where they belong. Where devices have elements in common, there is one whole for each device,
// with its elements.
func (x *stepOf) together(p ir.Parts) (wholes []held, missing string, err error) {
	list := make([]eval.Tensor, len(p.Names))
	for j, name := range p.Names {
		if name == "" {
			continue
		}
		var ok bool
		if list[j], ok, err = x.s.value(name + x.part[name]); err != nil {
			return nil, "", err
		}
		if !ok {
			why := cmp.Or(whyGone(x.f, name), "fused with other nodes, or equal to one")
			return nil, fmt.Sprintf("%%%s: %s", ir.QuoteName(name), why), nil
		}
	}
	add := func(shown int, t eval.Tensor, err error) error {
		wholes = append(wholes, held{Tensor: t, device: -1, devices: x.p.Devices, state: &p, shown: shown})
		return err
	}
	if p.State.Kind == ir.ShardPartial {
		t, err := added(list)
		return wholes, "", add(-1, t, err)
	}
	if !p.State.Overlaps() {
		t, err := joined(p.State, list, -1)
		return wholes, "", add(-1, t, err)
	}
	for j := range list {
		t, err := joined(p.State, list, j)
		if err := add(j, t, err); err != nil {
			return nil, "", err
		}
	}
	return wholes, "", nil
}

// added returns the sum of tensors. Those without elements are left out.
func added(list []eval.Tensor) (sum eval.Tensor, err error) {
	for _, t := range list {
		switch {
		case t.Shape == nil && t.Data == nil:
		case sum.Data == nil:
			sum = eval.Of(slices.Clone(t.Flat()), t.Shape...)
		case !slices.Equal(sum.Shape, t.Shape):
			return sum, fmt.Errorf("summands of the shapes %v and %v", sum.Shape, t.Shape)
		default:
			for i, v := range t.Flat() {
				sum.Data[i] += v
			}
		}
	}
	return sum, nil
}

// joined returns the tensor of which device j has list[j]. Elements that several devices have are those of device
// shown, if it is one of them.
func joined(s ir.Sharding, list []eval.Tensor, shown int) (whole eval.Tensor, err error) {
	var shape []int
	for j, t := range list {
		if n := s.Count(j); n > 0 {
			if s.Axis >= len(t.Shape) || t.Shape[s.Axis] != int(n) || shape != nil && !sameBut(shape, t.Shape, s.Axis) {
				return whole, fmt.Errorf("device %d has %v", j, t.Shape)
			}
			shape = slices.Clone(t.Shape)
		}
	}
	total := 0
	for _, seg := range s.Segments {
		total += int(seg.Times * seg.Len())
	}
	shape[s.Axis] = total
	outer, inner := product(shape[:s.Axis]), product(shape[s.Axis+1:])
	data := make([]float64, outer*total*inner)
	place := func(j int) {
		at := 0 // in the device's elements of the axis
		for _, r := range s.Ranges(j) {
			begin, n := int(r[0]), int(r[1])
			from, count := list[j].Flat(), int(s.Count(j))
			for o := range outer {
				copy(data[(o*total+begin)*inner:][:n*inner], from[(o*count+at)*inner:])
			}
			at += n
		}
	}
	for j := range list {
		place(j)
	}
	if shown >= 0 {
		place(shown)
	}
	return eval.Of(data, shape...), nil
}

// sameBut reports whether two shapes differ at most in one axis.
func sameBut(a, b []int, axis int) bool {
	return len(a) == len(b) && slices.Equal(a[:axis], b[:axis]) && slices.Equal(a[axis+1:], b[axis+1:])
}

func product(list []int) int {
	n := 1
	for _, x := range list {
		n *= x
	}
	return n
}

// on returns the name of the device that has an element; empty if all have it.
func (h held) on(index []int) string {
	device := h.device
	if h.state != nil && h.state.State.IsSplit() && h.state.State.Axis < len(index) {
		at := int64(index[h.state.State.Axis])
		for j := range h.state.Names {
			for _, r := range h.state.State.Ranges(j) {
				if r[0] <= at && at < r[0]+r[1] && (device < 0 || device != h.shown) {
					device = j
				}
			}
		}
	}
	if device < 0 {
		return ""
	}
	if device < len(h.devices) {
		return h.devices[device]
	}
	return fmt.Sprintf("device %d", device)
}

func (x *stepOf) limit(string, float64) float64 { return 0 }

// meant are the values of a step by the definition, by name.
type meant map[string]eval.Tensor

func (m meant) values(n *ir.Node) ([]held, string, error) {
	return []held{{Tensor: m[n.Result().Name()], device: -1, shown: -1}}, "", nil
}
