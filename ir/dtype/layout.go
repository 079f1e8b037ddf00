package dtype

import (
	"fmt"
	"slices"
	"strings"
)

// Layout is the order of the elements of a matrix [n, k] in memory. The zero value is Plain.
type Layout uint8

// The layouts.
const (
	// Plain is row-major rows of blocks without gaps, as a GGUF file stores them.
	Plain Layout = iota
	// R16 is panels of PanelRows rows, interleaved along k: a vector register holds one value of each
	// of the panel's rows, and no sum crosses lanes. The last panel is padded with zeros. Package
	// kernels/cpu/tile describes the bytes.
	R16
	// Planar is rows that follow each other, of which each has its blocks in planes: a plane has one part
	// of every block, such as all scales. GPUs load it 16 bytes at a time. See Plane.
	Planar

	// NumLayouts is the length of a table keyed by Layout. Layouts of other modules follow: see NewLayout.
	NumLayouts
)

// PanelRows is the number of rows in a panel of R16: the float32 lanes of 512 bits.
const PanelRows = 16

var layoutNames = [NumLayouts]string{Plain: "plain", R16: "r16", Planar: "planar"}

// panelBlockBytes is the size of one block of k of a panel of R16, for the dtypes with that layout. The
// block lengths are those of the dtype. Blocks of these formats have the size of 16 plain ones: only the last
// panel is padded. For formats with a scheme see Scheme.PanelBytes.
var panelBlockBytes = [NumDTypes]int{
	F32:  PanelRows * 4,
	F16:  PanelRows * 2,
	BF16: PanelRows * 2,
	Q8_0: PanelRows * 34,
	Q4_0: PanelRows * 18,
}

// String returns the name in the text form, such as "r16".
func (l Layout) String() string {
	if p := l.packing(); p != nil {
		return p.Name
	}
	if l >= NumLayouts {
		return fmt.Sprintf("layout(%d)", uint8(l))
	}
	return layoutNames[l]
}

// ParseLayout returns the layout with the name that String gives.
func ParseLayout(name string) (Layout, error) {
	names := LayoutNames()
	if i := slices.Index(names, name); i >= 0 {
		return Layout(i), nil
	}
	return Plain, fmt.Errorf("unknown layout %q: the known ones are %s", name, strings.Join(names, ", "))
}

// Holds reports whether a matrix of d may have layout l.
func (l Layout) Holds(d DType) bool {
	return d.Valid() && (l == Plain || l == R16 && d.PanelBlockBytes() != 0 || l == Planar && planes[d] != nil || l.GroupBytes(d) != 0)
}

// Rows returns how many rows of a matrix share bytes that only they have. The bytes of each matrix of a list, and of a
// matrix those of each such group of rows, follow those of the one before.
func (l Layout) Rows() int64 {
	if l == R16 {
		return PanelRows
	}
	if p := l.packing(); p != nil {
		return int64(p.Rows)
	}
	return 1
}

// PanelBlockBytes returns the bytes of PanelRows rows of BlockElems elements of k in layout R16, or 0
// if d does not have the layout.
func (d DType) PanelBlockBytes() int {
	if !d.Valid() {
		return 0
	}
	if s := schemes[d]; s != nil {
		return s.PanelBytes()
	}
	return panelBlockBytes[d]
}

// PackedBytes returns the bytes of an [n, k] matrix of d in layout l. k must be a whole number of
// blocks, and d must have the layout, which callers have to check.
func PackedBytes(d DType, l Layout, n, k int64) int64 {
	t := d.info()
	if n < 0 || k < 0 || k%int64(t.blockElems) != 0 || !l.Holds(d) {
		panic(fmt.Sprintf("dtype: internal error: no %v layout for [%d, %d] of %v", l, n, k, d))
	}
	blocks := k / int64(t.blockElems)
	switch l {
	case Plain:
		return n * blocks * int64(t.blockBytes)
	case Planar:
		return n * planarBytes(d, blocks)
	}
	group := d.PanelBlockBytes()
	if l != R16 {
		group = l.GroupBytes(d)
	}
	return (n + l.Rows() - 1) / l.Rows() * blocks * int64(group)
}
