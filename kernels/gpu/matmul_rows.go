package gpu

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// mostRows is the number of rows of x that a team multiplies at once with what it decoded. teamCols is the number of
// rows of matrices that it multiplies at once with what it loaded of x, if that is one row.
const (
	mostRows = 4
	teamCols = 4
)

// rowwise computes products for few rows of x. A unit has the rows and columns of the result that a team takes at once,
// for each team of a workgroup.
type rowwise struct {
	*product
	teams    *teams
	most     int        // rows of x that a team takes at once
	wide     int        // columns that it takes at once
	rowUnits *kir.Value // units of a column
	perUnit  *kir.Value // columns of a unit
	total    *kir.Value // units
}

// rowwise returns the algorithm for most rows at once.
func (p *product) rowwise(most int) *rowwise {
	r := &rowwise{product: p, most: most, wide: teamCols / len(p.matrices) / min(most, 2)}
	r.teams = p.teamsFor(p.y.Inner().Upper()/int64(r.wide), p.threads)
	r.rowUnits = p.size(units(p.y.Rows(), most))
	r.perUnit = p.Mul(r.teams.count, p.Int(r.wide))
	r.total = p.Mul(r.rowUnits, p.Div(p.Add(p.cols, p.Sub(r.perUnit, p.one)), r.perUnit))
	return r
}

// units returns the number of units for a number of rows, with subgroups of commonLanes if their size is not known.
func (r *rowwise) units(rows ir.Dim) ir.Dim {
	return units(rows, r.most).Mul(units(r.y.Inner(), r.teams.common*r.wide))
}

// each computes all units.
func (r *rowwise) each(from reader) {
	r.perGroup(r.total, func(u *kir.Value) {
		row := r.Mul(r.Rem(u, r.rowUnits), r.Int(r.most))
		unit := r.Mul(r.Div(u, r.rowUnits), r.teams.count)
		r.unit(from, row, r.Mul(r.Add(unit, r.teams.team), r.Int(r.wide)))
	})
}

// unit computes elements of the rows from row on in the columns from col on.
func (r *rowwise) unit(from reader, row, col *kir.Value) {
	xs, ws := make([]*kir.Value, r.most), make([][]*kir.Value, len(r.matrices))
	for i := range xs { // rows beyond the last are the last one again, as are columns
		xs[i] = from.xRow(r.lowering, r.x, r.xRow(r.Min(r.Add(row, r.Int(i)), r.Sub(r.rows, r.one))))
	}
	first := r.firstRow(row)
	for m, w := range r.matrices {
		for c := range r.wide {
			c := r.Min(r.Add(col, r.Int(c)), r.Sub(r.cols, r.one))
			ws[m] = append(ws[m], from.row(r.lowering, w, r.Add(first, c)))
		}
	}
	sums := r.teams.sum(r.dots(from, xs, ws))
	r.put(row, col, sums)
}

// dots returns the sums of the thread for each row of x, column and matrix.
func (r *rowwise) dots(from reader, xs []*kir.Value, ws [][]*kir.Value) []*kir.Value {
	init := make([]*kir.Value, r.most*r.wide*len(ws))
	for i := range init {
		init[i] = from.zero(r.lowering)
	}
	sums := r.eachRun(from.elems(), init, func(i *kir.Value, c []*kir.Value) []*kir.Value {
		next := c[:0:0]
		var x []run
		for col := range r.wide {
			var runs []run
			for m, w := range r.matrices {
				runs = append(runs, from.run(r.lowering, w, ws[m][col], i))
			}
			for row := range xs {
				if col == 0 {
					x = append(x, from.x(r.lowering, r.x, xs[row], runs[0]))
				}
				for _, run := range runs {
					next = append(next, from.add(r.lowering, x[row], run, c[len(next)]))
				}
			}
		}
		return next
	})
	for i := range sums {
		sums[i] = from.total(r.lowering, sums[i])
	}
	return sums
}

// eachRun runs body for the runs of the thread and returns the last carried values. If all threads of a team are known
// to have an even number of runs, an iteration has two, so that more loads are under way.
func (r *rowwise) eachRun(elems int, init []*kir.Value, body func(i *kir.Value, c []*kir.Value) []*kir.Value) []*kir.Value {
	k, size := r.x.Inner(), r.teams.size
	inner := r.x.shape[r.x.Rank()-1]
	if size == 0 || r.most > 1 || !k.DivisibleBy(int64(2*size*elems)) {
		return r.For(r.teams.lane, r.Div(inner, r.Int(elems)), r.teams.lanes, init, body)
	}
	pairs := r.Div(inner, r.Int(2*size*elems))
	return r.For(r.zero, pairs, r.one, init, func(i *kir.Value, c []*kir.Value) []*kir.Value {
		first := r.Add(r.teams.lane, r.Mul(i, r.Int(2*size)))
		return body(r.Add(first, r.teams.lanes), body(first, c))
	})
}

// put stores the elements, of which there are sums for each matrix, for each row, in each column. Each of the first
// threads of a team stores one of leastLanes elements.
func (r *rowwise) put(row, col *kir.Value, sums []*kir.Value) {
	matrices, n := len(r.matrices), r.most*r.wide
	for from := 0; from < n; from += leastLanes {
		mine := make([]*kir.Value, matrices)
		copy(mine, sums[from*matrices:])
		last := min(from+leastLanes, n)
		for e := from + 1; e < last; e++ {
			is := r.Eq(r.teams.lane, r.Int(e-from))
			for m := range mine {
				mine[m] = r.Select(is, sums[e*matrices+m], mine[m])
			}
		}
		e := r.Add(r.teams.lane, r.Int(from))
		toRow, toCol := r.Add(row, r.Rem(e, r.Int(r.most))), r.Add(col, r.Div(e, r.Int(r.most)))
		inside := r.And(r.Lt(toRow, r.rows), r.Lt(toCol, r.cols))
		r.If(r.And(r.Lt(r.teams.lane, r.Int(last-from)), inside), func() { r.finish(toRow, toCol, mine) })
	}
}
