package gpu

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// fewOfExpert is the average number of rows of an expert up to which products are computed row by row: then a matrix is
// read four times, as often as that of a dense product with fewRows.
//
// leastWide is the smallest number of threads of a subgroup of devices that compute experts' tiles. Drivers that compute
// on the processor have 4 or 8, the lanes of a vector, and load from shared memory a lane after the other: tiles of
// experts, which are seldom full, take longer there than rows.
const (
	fewOfExpert = 4
	leastWide   = 16
)

// maybeNarrow reports whether only the device tells whether its subgroups are too small for tiles of experts.
func (p *product) maybeNarrow() bool {
	return p.idx != nil && p.on.has(kir.CapSubgroup) && p.on.Lanes == 0
}

// expertOf returns the expert of row r of the result.
func (p *product) expertOf(r *kir.Value) *kir.Value {
	if p.idx.Dense() {
		return p.loadI32(p.idx, r)
	}
	return p.loadI32(p.idx, p.element(p.idx, p.coords(r, p.idx.shape)))
}

// xRow returns the row of x for row r of the result.
func (p *product) xRow(r *kir.Value) *kir.Value {
	if p.idx != nil && p.x.Shape[1].Is(1) {
		return p.Div(r, p.idx.shape[1]) // all choices of a token read one row
	}
	return r
}

// firstRow returns the row of the matrices, all experts' in order, for row r and column 0 of the result.
func (p *product) firstRow(r *kir.Value) *kir.Value {
	if p.idx == nil {
		return p.zero
	}
	return p.Mul(p.expertOf(r), p.cols)
}

// number returns which row of the result row r of a tile is.
func (p *product) number(r *kir.Value) *kir.Value {
	if p.listed == nil {
		return r
	}
	return p.SharedLoad(p.listed, r)
}

// matrixRow returns the row of the matrices for column col of a tile.
func (p *product) matrixRow(col *kir.Value) *kir.Value {
	if p.first == nil {
		return col
	}
	return p.Add(p.first, col)
}

// chosen finds the rows of the result that an expert computes. Each workgroup finds those of its own expert, when it
// begins with a column of tiles: the threads count the indices that name the expert, then each knows how many the
// threads before it have found, so that all know where in the order each row is. The order is that of threads, and
// of the indices that a thread looks at. A row's elements do not depend on it.
//
// A tile has up to tileRows of them. For each tile the indices are read once more, and the rows of the tile are stored
// in the list. So shared memory needs no room for all rows, and a prompt of any length is computed.
type chosen struct {
	*product
	counts *kir.Shared // of each thread
	parts  *kir.Shared // of countPart threads each
	found  *kir.Shared // rows of the tile
}

// countPart is the number of threads whose counts are added up by one of them.
const countPart = 16

func (p *product) chosen() *chosen {
	i32 := kir.Scalar(kir.I32)
	return &chosen{p, p.NewShared("counts", i32, p.threads), p.NewShared("parts", i32, p.threads/countPart), p.NewShared("found", i32, tileRows)}
}

// each runs tile for each tile of an expert's rows, with the product of these rows with the expert's matrix. An expert
// that no row chose has none.
func (c *chosen) each(expert *kir.Value, tile func(of *product)) {
	c.Barrier() // the last counts were read
	before, total := c.count(expert)
	c.For(c.zero, total, c.Int(tileRows), nil, func(from *kir.Value, _ []*kir.Value) []*kir.Value {
		c.collect(expert, before, from)
		c.Barrier()
		of := *c.product
		of.listed, of.first = c.found, c.Mul(expert, c.cols)
		of.rows = c.Min(c.Int(tileRows), c.Sub(total, from))
		tile(&of)
		c.Barrier() // the next list overwrites this one
		return nil
	})
}

// look runs body for the rows of the result that the thread looks at, and tells whether they are the expert's.
func (c *chosen) look(expert, init *kir.Value, body func(row, sum, is *kir.Value)) *kir.Value {
	return c.strided(c.rows, c.threads, []*kir.Value{init}, func(row *kir.Value, sum []*kir.Value) []*kir.Value {
		is := c.Eq(c.expertOf(row), expert)
		body(row, sum[0], is)
		return []*kir.Value{c.Add(sum[0], c.Select(is, c.one, c.zero))}
	})[0]
}

// count returns the number of the expert's rows, and how many of them the threads before this one look at.
func (c *chosen) count(expert *kir.Value) (before, total *kir.Value) {
	me, each := c.Thread(), c.Int(countPart)
	c.SharedStore(c.counts, me, c.look(expert, c.zero, func(_, _, _ *kir.Value) {}))
	c.Barrier()
	add := func(s *kir.Shared, from, to, sum *kir.Value) *kir.Value {
		return c.For(from, to, c.one, []*kir.Value{sum}, func(i *kir.Value, sum []*kir.Value) []*kir.Value {
			return []*kir.Value{c.Add(sum[0], c.SharedLoad(s, i))}
		})[0]
	}
	parts := c.threads / countPart
	c.If(c.Lt(me, c.Int(parts)), func() {
		first := c.Mul(me, each)
		c.SharedStore(c.parts, me, add(c.counts, first, c.Add(first, each), c.zero))
	})
	c.Barrier()
	part := c.Div(me, each)
	before = add(c.counts, c.Mul(part, each), me, add(c.parts, c.zero, part, c.zero))
	total = c.zero
	for i := range parts { // not in a loop: the sum is the same in all threads, as barriers in loops over rows demand
		total = c.Add(total, c.SharedLoad(c.parts, c.Int(i)))
	}
	return before, total
}

// collect lists the expert's rows from number from on in their order.
func (c *chosen) collect(expert, before, from *kir.Value) {
	c.look(expert, before, func(row, sum, is *kir.Value) {
		at := c.Sub(sum, from)
		c.If(c.And(is, c.And(c.Le(c.zero, at), c.Lt(at, c.Int(tileRows)))), func() { c.SharedStore(c.found, at, row) })
	})
}
