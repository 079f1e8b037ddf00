package ir

import (
	"fmt"
	"slices"
	"strings"
)

// Division states how devices may divide a weight or state, because of what it is for: the rows of a product with heads, the
// columns of the product after them, a cache of heads. A nil Division means that every device has all of it.
type Division struct {
	// Name is the dimension of the model that is divided, such as "blk.0.heads". Weights and states with one name are divided
	// alike: a device that has the first half of the units of one has those of all.
	Name string

	Axis  int   // that is divided
	Units int64 // pieces of the dimension that stay together, such as heads of keys

	// Sizes are the segments of the axis, in elements. Each consists of Units equal pieces; a fused weight has several.
	Sizes []int64
}

// String returns the division in the text form.
func (d *Division) String() string {
	if d == nil {
		return "no division"
	}
	return fmt.Sprintf("divide %s %d %d [%s]", quote(d.Name), d.Axis, d.Units, strings.Trim(strings.ReplaceAll(fmt.Sprint(d.Sizes), " ", ", "), "[]"))
}

func (d *Division) clone() *Division {
	if d == nil {
		return nil
	}
	c := *d
	c.Sizes = slices.Clone(d.Sizes)
	return &c
}

func (d *Division) equal(e *Division) bool {
	if d == nil || e == nil {
		return d == e
	}
	return d.Name == e.Name && d.Axis == e.Axis && d.Units == e.Units && slices.Equal(d.Sizes, e.Sizes)
}

// check reports a division that a type cannot have.
func (d *Division) check(t Type) error {
	if d == nil {
		return nil
	}
	if d.Axis < 0 || d.Axis >= t.Rank() {
		return fmt.Errorf("is divided on axis %d of %d", d.Axis, t.Rank())
	}
	if d.Units < 1 {
		return fmt.Errorf("is divided into %d units", d.Units)
	}
	sum := int64(0)
	for _, n := range d.Sizes {
		if n < 1 || n%d.Units != 0 || n > maxDivided-sum {
			return fmt.Errorf("has a segment of %d elements, which are not %d equal units", n, d.Units)
		}
		sum += n
	}
	if !t.Shape[d.Axis].Is(sum) {
		return fmt.Errorf("has segments of %d elements on an axis of %v", sum, t.Shape[d.Axis])
	}
	return nil
}

// maxDivided is the largest extent of a divided axis.
const maxDivided = 1 << 40

// division returns " divide …" for a division.
func (p *printer) division(d *Division) string {
	if d == nil {
		return ""
	}
	return " " + d.String()
}

// division parses a division, if there is one.
func (p *parser) division() *Division {
	if !p.accept("divide") {
		return nil
	}
	return &Division{Name: p.str("the name of a divided dimension in quotes"), Axis: p.natural(), Units: p.size(), Sizes: p.sizes()}
}
