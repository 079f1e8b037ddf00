package ir

import (
	"fmt"
	"slices"
	"strings"
)

// Division states how devices may divide a weight or state, because of what it is for: the rows of a product with
// heads, the columns of the product after them, a cache of heads. A nil Division means that every device has all of it.
type Division struct {
	// Name is the dimension of the model that is divided, such as "blk.0.heads". Weights and states with one name are
	// divided alike: a device that has the first half of the units of one has those of all.
	Name string

	Axis  int   // that is divided
	Units int64 // pieces of the dimension that stay together, such as heads

	// Sizes are the segments of the axis, in elements; a fused weight has several. Each consists of so many equal
	// Pieces. A piece is for as many consecutive units as there are pieces less, as a head of keys is for several heads
	// of queries: every device with one of them needs it. Nil Pieces mean one for each unit.
	Sizes, Pieces []int64
}

// PiecesOf returns the number of pieces of a segment.
func (d *Division) PiecesOf(segment int) int64 {
	if d.Pieces == nil {
		return d.Units
	}
	return d.Pieces[segment]
}

// String returns the division in the text form.
func (d *Division) String() string {
	if d == nil {
		return "no division"
	}
	texts := make([]string, len(d.Sizes))
	for i, n := range d.Sizes {
		texts[i] = fmt.Sprint(n)
		if pieces := d.PiecesOf(i); pieces != d.Units {
			texts[i] = fmt.Sprintf("%d*%d", pieces, n/max(pieces, 1))
		}
	}
	return fmt.Sprintf("divide %s %d %d [%s]", quote(d.Name), d.Axis, d.Units, strings.Join(texts, ", "))
}

func (d *Division) clone() *Division {
	if d == nil {
		return nil
	}
	c := *d
	c.Sizes, c.Pieces = slices.Clone(d.Sizes), slices.Clone(d.Pieces)
	return &c
}

func (d *Division) equal(e *Division) bool {
	if d == nil || e == nil {
		return d == e
	}
	return d.Name == e.Name && d.Axis == e.Axis && d.Units == e.Units && slices.Equal(d.Sizes, e.Sizes) && slices.Equal(d.Pieces, e.Pieces)
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
	if d.Pieces != nil && len(d.Pieces) != len(d.Sizes) {
		return fmt.Errorf("has pieces of %d segments of %d", len(d.Pieces), len(d.Sizes))
	}
	sum := int64(0)
	for i, n := range d.Sizes {
		pieces := d.PiecesOf(i)
		if pieces < 1 || d.Units%pieces != 0 {
			return fmt.Errorf("has a segment of %d pieces for %d units: each has to be for equally many", pieces, d.Units)
		}
		if n < 1 || n%pieces != 0 || n > maxDivided-sum {
			return fmt.Errorf("has a segment of %d elements, which are not %d equal units", n, pieces)
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
	d := &Division{Name: p.str("the name of a divided dimension in quotes"), Axis: p.natural(), Units: p.size()}
	var pieces []int64
	p.expect("[")
	if p.accept("]") {
		return d
	}
	p.list(func() {
		n, times := p.size(), d.Units
		if p.accept("*") {
			if times, n = n, p.size(); n > maxDivided/max(times, 1) {
				p.errorf("a segment is larger than %d", int64(maxDivided))
				return
			}
			n *= times
		}
		d.Sizes, pieces = append(d.Sizes, n), append(pieces, times)
	})
	p.expect("]")
	if slices.ContainsFunc(pieces, func(n int64) bool { return n != d.Units }) {
		d.Pieces = pieces
	}
	return d
}
