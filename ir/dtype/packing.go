package dtype

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// Packing describes a layout that a backend of another module reads. A matrix is cut into groups of rows, which follow
// each other; a group that lacks rows at the end of the matrix has the size of the others.
type Packing struct {
	Name string // in the text form: a word of lower-case letters and digits
	Rows int    // of a group, 1 to 64

	// Bytes returns how many bytes of a group belong to one block of each row; 0 means that matrices of d do not have
	// the layout. A group has that many for each block of a row.
	Bytes func(d DType) int

	// Pack lays out whole groups: dst gets rows of k elements from src, where they are plain. dst is zero before.
	// Unpack is the inverse, for rows of at most one group. Neither keeps its arguments.
	Pack, Unpack func(d DType, dst, src []byte, rows, k int)
}

// packings are the layouts from NumLayouts on.
var packings []*Packing

const maxGroup = 64

var layoutWord = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// NewLayout declares a layout. Only init functions call it, mostly by way of package codegen/backend. It packs and
// unpacks some rows of every dtype that has the layout.
func NewLayout(p Packing) (Layout, error) {
	switch {
	case !layoutWord.MatchString(p.Name):
		return Plain, fmt.Errorf("layout %q: not a name for a layout: write a lower-case letter, and then lower-case letters and digits", p.Name)
	case p.Rows < 1 || p.Rows > maxGroup:
		return Plain, fmt.Errorf("layout %s: groups of %d rows: write 1 to %d", p.Name, p.Rows, maxGroup)
	case p.Bytes == nil || p.Pack == nil || p.Unpack == nil:
		return Plain, fmt.Errorf("layout %s: Bytes, Pack or Unpack is nil: fill in all", p.Name)
	}
	if _, err := ParseLayout(p.Name); err == nil {
		return Plain, fmt.Errorf("layout %s: there is one of this name already: choose another", p.Name)
	}
	any := false
	for d := range NumDTypes {
		if !d.Valid() || p.Bytes(d) == 0 {
			continue
		}
		any = true
		if err := p.check(d); err != nil {
			return Plain, fmt.Errorf("layout %s of %v: %w", p.Name, d, err)
		}
	}
	if !any {
		return Plain, fmt.Errorf("layout %s: Bytes is 0 for every dtype", p.Name)
	}
	packings = append(packings, &p)
	return NumLayouts + Layout(len(packings)-1), nil
}

// check packs groups of rows whose bytes differ, and unpacks them.
func (p *Packing) check(d DType) error {
	if least := p.Rows * d.BlockBytes(); p.Bytes(d) < least {
		return fmt.Errorf("%d bytes for a block of each of %d rows, which have %d", p.Bytes(d), p.Rows, least)
	}
	const blocks = 3
	k := blocks * d.BlockElems()
	for _, rows := range []int{1, p.Rows} {
		plain := make([]byte, rows*d.RowBytes(k))
		for i := range plain {
			plain[i] = byte(i*131 + i>>8)
		}
		packed, again := make([]byte, blocks*p.Bytes(d)), make([]byte, len(plain))
		p.Pack(d, packed, plain, rows, k)
		p.Unpack(d, again, packed, rows, k)
		if !bytes.Equal(plain, again) {
			return errors.New("its Unpack does not return what Pack was given")
		}
	}
	return nil
}

// packing returns the description of a layout of another module; nil for others.
func (l Layout) packing() *Packing {
	if i := int(l) - int(NumLayouts); i >= 0 && i < len(packings) {
		return packings[i]
	}
	return nil
}

// GroupBytes returns the bytes of Rows blocks of d, one of each row of a group, in a layout of another module; 0 for
// other layouts, and for dtypes that do not have it.
func (l Layout) GroupBytes(d DType) int {
	if p := l.packing(); p != nil {
		return p.Bytes(d)
	}
	return 0
}

// PackRows lays out rows of k elements in a layout of another module.
func (l Layout) PackRows(d DType, dst, src []byte, rows, k int) {
	l.packing().Pack(d, dst, src, rows, k)
}

// UnpackRows is the inverse of PackRows, for rows of at most one group.
func (l Layout) UnpackRows(d DType, dst, src []byte, rows, k int) {
	l.packing().Unpack(d, dst, src, rows, k)
}

// LayoutNames returns the names of all layouts.
func LayoutNames() []string {
	names := slices.Clone(layoutNames[:])
	for _, p := range packings {
		names = append(names, p.Name)
	}
	return names
}
