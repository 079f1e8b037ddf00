package gpu

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// blockFormat describes how a thread decodes a format in blocks, from plain blocks and from planes.
type blockFormat struct {
	length int // elements of a run, of a matrix in layout plain
	planar int // the same, in layout planar; 0 if the format does not have the layout

	// decode decodes run number at of n elements of a block: those of the format, or 8 or 16 if that is less. The
	// result's first element is counted in the block.
	decode func(b *codedBlock, at *kir.Value, n int) run
}

// formatOfBlocks returns how rows of a type are decoded; ok is false if nothing decodes them. Where the planes of a row
// are depends on the row's length, which has to be a constant.
func formatOfBlocks(t ir.Type) (f format, ok bool) {
	own, ok := blockFormats[t.DType]
	k, constant := t.Inner().IsConst()
	length := own.length
	if t.Layout == dtype.Planar {
		length, ok = own.planar, constant && own.planar > 0
	}
	if !ok {
		return format{}, false
	}
	parts, elems := partsOf(t, int(k)), t.DType.BlockElems()
	return format{length, func(l *lowering, row, i *kir.Value, n int) run {
		per := l.Int(elems / n)
		number := l.Div(i, per)
		r := own.decode(&codedBlock{l, row, number, parts}, l.Rem(i, per), n)
		r.first = l.Add(l.Mul(number, l.Int(elems)), r.first)
		return r
	}}, true
}

// part is where a part of the blocks of a row is: that of block b begins from + b*each bytes after the row.
type part struct {
	from, each int
	align      int // of which the addresses of the parts are multiples
}

// partsOf returns the parts of the blocks of a type, in rows of k elements: the parts that layout planar separates, or
// whole blocks as one part. Matrices begin at multiples of 16, or at a block of such a matrix.
func partsOf(t ir.Type, k int) (list []part) {
	d := t.DType
	planes := d.Planes()
	if planes == nil {
		planes = []dtype.Plane{{Offset: 0, Bytes: d.BlockBytes()}}
	}
	for i, p := range planes {
		if t.Layout == dtype.Planar {
			list = append(list, part{d.PlaneAt(i, k), p.Bytes, divisor(p.Bytes, dtype.PlaneAlign)})
		} else {
			list = append(list, part{p.Offset, d.BlockBytes(), divisor(p.Offset, d.BlockBytes(), dtype.PlaneAlign)})
		}
	}
	return list
}

// divisor returns the largest power of two that divides all numbers.
func divisor(numbers ...int) int {
	bits := 0
	for _, n := range numbers {
		bits |= n
	}
	return bits & -bits
}

// codedBlock is a block of a row that a thread decodes.
type codedBlock struct {
	*lowering
	row, number *kir.Value
	parts       []part
}

// place is an address that is a multiple of align.
type place struct {
	address *kir.Value
	align   int
}

// in returns the place skip bytes after the beginning of part p.
func (b *codedBlock) in(p, skip int) place {
	at := b.parts[p]
	return place{b.after(b.At(b.row, b.number, at.each), at.from+skip), divisor(at.align, skip)}
}

// step returns the place i times that many bytes after a place.
func (b *codedBlock) step(from place, i *kir.Value, bytes int) place {
	return place{b.At(from.address, i, bytes), divisor(from.align, bytes)}
}

// loadWords loads n words of 4 bytes, by loads of as many bytes as the place is a multiple of.
func (b *codedBlock) loadWords(from place, n int) (list []*kir.Value) {
	each := min(from.align/4, n)
	if each == 0 {
		return b.narrowWords(from, n)
	}
	for at := 0; at < n; at += each {
		words := b.loadAt(kir.Vector(kir.U32, each), from.address, 4*at)
		if each == 1 {
			list = append(list, words)
		} else {
			list = append(list, b.lanes(words)...)
		}
	}
	return list
}

// narrowWords loads words from a place that is no multiple of 4.
func (b *codedBlock) narrowWords(from place, n int) []*kir.Value {
	if from.align == 2 {
		return b.words(from.address, n)
	}
	list := make([]*kir.Value, n)
	for i := range list {
		list[i] = b.loadByte(place{b.after(from.address, 4*i), 1})
		for at := 1; at < 4; at++ {
			x := b.loadByte(place{b.after(from.address, 4*i+at), 1})
			list[i] = b.Or(list[i], b.Shl(x, b.Uint(uint32(8*at))))
		}
	}
	return list
}

// loadByte loads a byte as a number.
func (b *codedBlock) loadByte(from place) *kir.Value {
	return b.Convert(b.Load(kir.Scalar(kir.U8), from.address), kir.U32)
}

// loadHalf loads an f16 as f32.
func (b *codedBlock) loadHalf(from place) *kir.Value { return b.scaleAt(from.address) }

// inOrder returns the pieces of words that follow each other.
func inOrder(words []*kir.Value) (list []piece) {
	for w, word := range words {
		list = append(list, piece{4 * w, word})
	}
	return list
}

// inRuns returns the run of pieces that follow each other: run at of n elements.
func (b *codedBlock) inRuns(at *kir.Value, n int, scale, plus *kir.Value, pieces []piece) run {
	return run{first: b.Mul(at, b.Int(n)), scale: scale, plus: plus, pieces: pieces}
}
