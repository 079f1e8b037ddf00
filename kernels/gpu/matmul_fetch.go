package gpu

import (
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// fetcher fills the stages of a unit: start loads a slice, deliver stores it. Between the two a subgroup multiplies.
// Beyond the end of a row, x has zeros, and the matrices have the row's last elements again.
type fetcher struct {
	*multiplied
	xs, ws []strip
	copied bool       // the matrices are copied asynchronously, not decoded
	slice  *kir.Value // that start loads
	loaded []quad
}

// strip is what a thread loads of a row of a slice.
type strip struct {
	row  *kir.Value // address
	to   *kir.Value // the row's first quad in a stage
	part *kir.Value // of the row's slice: which quad, run or piece of 16 bytes
}

// quad is a vector of four that deliver stores.
type quad struct {
	x  *kir.Value
	in *kir.Shared
	at *kir.Value // in the stage
}

// pieceElems is the number of 16-bit elements that a thread copies at once.
const pieceElems = 8

func (m *multiplied) fetcher(row, col *kir.Value) *fetcher {
	w := m.matrices[0].DType
	f := &fetcher{multiplied: m, copied: m.on.Caps&kir.CapAsync != 0 && (w == dtype.F16 || w == dtype.BF16)}
	f.xs = f.strips(tileRows, sliceQuads, 0, func(line *kir.Value) *kir.Value {
		return m.from.xRow(m.lowering, m.x, m.xRow(m.number(m.Min(m.Add(row, line), m.Sub(m.rows, m.one)))))
	})
	parts := sliceElems / m.from.length
	if f.copied {
		parts = sliceElems / pieceElems
	}
	f.ws = f.strips(f.lines*len(f.matrices), parts, f.matrixFrom, func(line *kir.Value) *kir.Value { return f.lineRow(line, col) })
	return f
}

// lineRow returns the address of the row that is a line of the slices of matrices. Those beyond the last are the last
// one again.
func (f *fetcher) lineRow(line, col *kir.Value) *kir.Value {
	within := f.Rem(line, f.Int(f.lines))
	r := f.matrixRow(f.Min(f.Add(col, within), f.Sub(f.cols, f.one)))
	address := f.from.row(f.lowering, f.matrices[0], r)
	if len(f.matrices) == 2 {
		address = f.Select(f.Lt(line, f.Int(f.lines)), address, f.from.row(f.lowering, f.matrices[1], r))
	}
	return address
}

// strips divides lines of that many parts each among the threads. The first line begins at a quad of a stage.
func (f *fetcher) strips(lines, parts, from int, row func(line *kir.Value) *kir.Value) []strip {
	var list []strip
	for first := 0; first < lines*parts; first += f.threads {
		n := f.Add(f.Thread(), f.Int(first))
		line := f.Div(n, f.Int(parts))
		to := f.line(line)
		if from > 0 {
			to = f.Add(to, f.Int(from))
		}
		list = append(list, strip{row(line), to, f.Rem(n, f.Int(parts))})
	}
	return list
}

// start loads a slice into registers, or begins to copy it to a stage.
func (f *fetcher) start(slice, stage *kir.Value) {
	f.slice, f.loaded = slice, nil
	if f.copied {
		f.copy(stage)
	} else {
		f.decode()
	}
	zero := f.splat(f.Float(0))
	for _, s := range f.xs {
		at, inside := f.within(s.part, sliceQuads, 4)
		x := f.Load(kir.Vector(kir.F32, 4), f.At(s.row, at, 16))
		if inside != nil {
			x = f.Select(inside, x, zero)
		}
		f.keep(f.xs16(x), f.multiplied.xs, f.quad(s.to, s.part))
	}
}

func (f *fetcher) keep(x *kir.Value, in *kir.Shared, at *kir.Value) {
	f.loaded = append(f.loaded, quad{x, in, at})
}

// within returns which part of a row a part of the slice is, if a slice has that many of so many elements. Where a row
// does not consist of whole slices, inside tells whether the row has the part; parts beyond the last are the last one
// again.
func (f *fetcher) within(part *kir.Value, parts, elems int) (at, inside *kir.Value) {
	at = f.Add(f.Mul(f.slice, f.Int(parts)), part)
	if f.from.k%sliceElems == 0 {
		return at, nil
	}
	n := f.Int(f.from.k / elems)
	return f.Min(at, f.Sub(n, f.one)), f.Lt(at, n)
}

// xs16 rounds elements of x to 16 bits.
func (f *fetcher) xs16(x *kir.Value) *kir.Value {
	if f.kind == kir.F16 {
		const most = 65504
		nan := f.Sub(x, x) // 0 if x is finite
		x = f.Add(f.Max(f.Min(x, f.splat(f.Float(most))), f.splat(f.Float(-most))), nan)
	}
	return f.Convert(x, f.kind)
}

// decode loads runs of the matrices.
func (f *fetcher) decode() {
	length := f.from.length
	for _, s := range f.ws {
		i, inside := f.within(s.part, sliceElems/length, length)
		r := f.from.run(f.lowering, f.matrices[0], s.row, i)
		first := f.Sub(r.first, f.Mul(f.slice, f.Int(sliceElems)))
		if inside != nil { // only formats without blocks, whose runs are in order, have rows of other lengths
			first = f.Mul(s.part, f.Int(length))
		}
		at := f.Div(first, f.Int(4))
		for _, p := range r.pieces {
			f.keep(f.Convert(f.scaled(p.x, r), f.kind), f.multiplied.ws, f.quadAfter(s.to, at, p.at/4))
		}
	}
}

// copy begins to copy the matrices' slice to a stage.
func (f *fetcher) copy(stage *kir.Value) {
	for _, s := range f.ws {
		i, _ := f.within(s.part, sliceElems/pieceElems, pieceElems)
		at := f.Add(stage, f.quad(s.to, f.Mul(s.part, f.Int(pieceElems/4))))
		f.CopyAsync(f.multiplied.ws, at, f.At(s.row, i, 2*pieceElems), 2*pieceElems)
	}
	f.CopyCommit()
}

// deliver stores what start loaded in a stage, and waits for what it copies.
func (f *fetcher) deliver(stage *kir.Value) {
	for _, q := range f.loaded {
		f.SharedStore(q.in, f.Add(stage, q.at), q.x)
	}
	if f.copied {
		f.CopyWait(0)
	}
}
