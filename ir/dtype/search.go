package dtype

import "math"

// This file has the parts of encoder that fit scales and mins to elements.

// mul returns a product that is rounded. Without the conversion a compiler may fuse it with a sum, and some machines would
// have other results.
func mul(a, b float64) float64 { return float64(a * b) }

// group is a group of elements with the scale and the min that fit it best by itself, and the sums for these.
type group struct {
	x          []float64
	sum, sum2  float64 // of elements, and of their squares
	extreme    float64 // the first element of the largest magnitude
	scale, low float64
	sums       sums
}

// sums are sums over a group: of the values of its elements, of their squares, and of the products of elements and values.
// Those of values are integers, and exact.
type sums struct{ v, vv, xv float64 }

// round returns the sums for the values that, times scale minus low, are nearest to the elements.
func (e *encoder) round(x []float64, scale, low float64) (s sums) {
	factor, bias := e.line(scale, low)
	for _, x := range x {
		v := e.value[e.index(x, factor, bias)]
		s.v += v
		s.vv += mul(v, v)
		s.xv += mul(x, v)
	}
	return s
}

// line returns the factor and the bias that turn elements to indices of the encoder's tables.
func (e *encoder) line(scale, low float64) (factor, bias float64) {
	if scale != 0 {
		factor = 2 / scale
	}
	return factor, mul(low, factor) - e.first
}

// index returns the index in the encoder's tables of the value nearest to an element. What is converted to an integer has a
// magnitude below 2^58: an element is at most 2^29 times the largest unit, and the smallest is 2^-27.
func (e *encoder) index(x, factor, bias float64) uint {
	k := min(int(mul(x, factor)+bias), e.last)
	return uint(max(k, 0)) % uint(len(e.value))
}

// error returns the error of a group whose elements are values times scale minus low.
func (g *group) error(s sums, scale, low float64) float64 {
	ofScale := mul(scale, mul(scale, s.vv)-2*s.xv-2*mul(low, s.v))
	ofLow := mul(low, mul(low, float64(len(g.x)))+2*g.sum)
	return g.sum2 + ofScale + ofLow
}

// best returns the scale and the min of the smallest error for given values.
func (e *encoder) best(g *group, s sums) (scale, low float64) {
	if e.Mins {
		n := float64(len(g.x))
		vv, xv := mul(n, s.vv)-mul(s.v, s.v), mul(n, s.xv)-mul(g.sum, s.v)
		if vv > 0 && xv > 0 {
			scale = xv / vv
		}
		if low = (mul(scale, s.v) - g.sum) / n; low >= 0 || !e.Super { // integer mins have no sign
			return scale, low
		}
	}
	if s.vv > 0 {
		return s.xv / s.vv, 0
	}
	return 0, 0
}

// fit sets the rest of a group that has its elements: step 1 of encoder.
func (e *encoder) fit(g *group) {
	width, low := e.cover(g)
	if g.low = low; width == 0 || e.Power {
		return
	}
	least, noise := math.Inf(1), mul(g.sum2, 1e-12) // more than what the error has from rounding
	try := func(scale, low float64) (better bool) {
		s := e.round(g.x, scale, low)
		scale, low = e.best(g, s)
		if err := g.error(s, scale, low); err < least-noise {
			least, g.scale, g.low, g.sums, better = err, scale, low, s, true
		}
		return better
	}
	for _, to := range e.starts {
		try(width/to, low)
	}
	for range lloydSteps {
		if !try(g.scale, g.low) {
			return
		}
	}
}

// lloydSteps is how often, at most, elements are rounded again with the best scale so far. Groups of a cluster far from 0 and a
// few large elements need several; most need one.
const lloydSteps = 6

// cover sets sums and extreme of a group. It returns the extreme and 0, or of formats with mins the difference of the largest
// and the smallest element and the min for that.
func (e *encoder) cover(g *group) (width, low float64) {
	least, most := g.x[0], g.x[0]
	for _, x := range g.x {
		g.sum += x
		g.sum2 += mul(x, x)
		if x < least {
			least = x
		}
		if x > most {
			most = x
		}
	}
	g.extreme = most
	if -least > most {
		g.extreme = least
	}
	if !e.Mins {
		return g.extreme, 0
	}
	if e.Super { // where mins have no sign
		least = min(least, 0)
	}
	return most - least, -least
}

// choose sets the integers of all groups and the block's error: step 3 of encoder. Scales differ from the nearest integers by
// at most reach.
func (e *encoder) choose(b *fitting, reach int) {
	d, m := e.numbers(&b.coding)
	b.err = 0
	for i := range b.groups {
		if e.Super {
			b.err += e.chooseGroup(b, i, reach, d, m)
			continue
		}
		g := &b.group[i]
		b.scale[i], b.min[i], b.sums[i] = 1, 1, e.round(g.x, d, m)
		b.err += g.error(b.sums[i], d, m)
	}
}

// chooseGroup sets the integers of a group and returns its error.
func (e *encoder) chooseGroup(b *fitting, i, reach int, d, m float64) (least float64) {
	g, near := &b.group[i], multiple(b.group[i].scale, d)
	near = max(e.ScaleLow, min(near, e.ScaleTop))
	least = math.Inf(1)
	candidates := [...]int{near, near - 1, near + 1}
	for _, s := range candidates[:1+2*reach] {
		if s < e.ScaleLow || s > e.ScaleTop {
			continue
		}
		scale, t := mul(d, float64(s)), 0
		if e.Mins {
			t = multiple((mul(scale, g.sums.v)-g.sum)/float64(len(g.x)), m)
			t = max(0, min(t, e.MinTop))
		}
		low := mul(m, float64(t))
		sums := e.round(g.x, scale, low)
		if err := g.error(sums, scale, low); err < least {
			least, b.scale[i], b.min[i], b.sums[i] = err, int8(s), int8(t), sums
		}
	}
	return least
}

// multiple returns the integer that, times unit, is nearest to x.
func multiple(x, unit float64) int {
	if unit == 0 {
		return 0
	}
	return int(math.Round(x / unit))
}

// refine replaces the units and integers by better ones, if it finds such: step 4 of encoder.
func (e *encoder) refine(b *fitting) {
	before := b.coding
	if d, m, ok := e.bestUnits(b); ok && e.setUnits(&b.coding, d, m) {
		e.choose(b, 0)
	}
	if b.err >= before.err {
		b.coding = before
	}
}

// shrink replaces subnormal units by smaller ones as long as errors become smaller. Units of zero make all elements zero.
func (e *encoder) shrink(b *fitting) {
	for {
		before := b.coding
		for _, by := range [...][2]uint16{{1, 0}, {0, 1}, {1, 1}} {
			last := b.coding
			d, m := before.d, before.m
			if !subnormal(d, by[0]) || !subnormal(m, by[1]) {
				continue
			}
			b.d, b.m = d-by[0], m-by[1]
			if e.choose(b, 1); b.err >= last.err {
				b.coding = last
			}
		}
		if b.err >= before.err {
			return
		}
	}
}

// subnormal reports whether the magnitude of a float16 below the smallest normal one can be less by some units of its last bit.
func subnormal(f, by uint16) bool { return by == 0 || f&0x7fff < 0x400 && f&0x7fff >= by }

// bestUnits returns the units of the smallest error for given integers and values, if they are determined.
func (e *encoder) bestUnits(b *fitting) (d, m float64, ok bool) {
	var dd, dm, mm, xd, xm float64
	for i := range b.groups {
		g, s, t := &b.group[i], float64(b.scale[i]), float64(b.min[i])
		dd += mul(s*s, b.sums[i].vv)
		xd += mul(s, b.sums[i].xv)
		if e.Mins {
			dm += mul(s*t, b.sums[i].v)
			mm += mul(t*t, float64(len(g.x)))
			xm -= mul(t, g.sum)
		}
	}
	if mm == 0 {
		return xd / dd, 0, dd > 0
	}
	// The derivatives of the error by d and by m are zero: dd·d - dm·m = xd and mm·m - dm·d = xm.
	det := mul(dd, mm) - mul(dm, dm)
	d, m = (mul(xd, mm)+mul(xm, dm))/det, (mul(xm, dd)+mul(xd, dm))/det
	return d, m, det > 0 && (!e.Super || d >= 0 && m >= 0)
}
