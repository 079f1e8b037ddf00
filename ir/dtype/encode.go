package dtype

import (
	"math"
	"slices"
	"sync"
)

// schemeCodec is the codec of a format with a scheme.
func schemeCodec(d DType) codec {
	e := sync.OnceValue(func() *encoder { return newEncoder(schemes[d]) }) // most programs encode nothing
	return codec{
		decode: schemes[d].decode,
		encode: func(dst []byte, src []float32) error { return e().encode(dst, src) },
	}
}

// encoder converts blocks to a format with a scheme. It searches for scales and mins with a small sum of squared errors:
//
//  1. Each group gets a scale and a min of its own (fit). For each of several scales about the one that covers the group,
//     elements are rounded to the nearest values, and least squares give the best scale and min for these values. With
//     the best of all, elements are rounded again, as long as that helps. This is Lloyd's algorithm (Least squares quantization in PCM, 1982)
//     for values of fixed proportions, from several starts.
//  2. The block's units make the largest scale, and the largest min, the ends of their ranges (units).
//  3. Each group gets the integer scale, and min, of the smallest error among those next to its own (choose).
//  4. For the integers and values found, least squares over the block give better units, and step 3 is done again for
//     these. The result is kept if its error is smaller (refine).
//
// A block of 32 has one group, whose integers are 1. Of formats of powers of two, the best of three powers is taken (power).
//
// The idea of several starts with least squares is that of ggml's quantizers. Those weight elements by magnitude; here all
// count equally, as nothing is known about what they are multiplied with. There are fewer starts here: steps 3 and 4, which
// ggml has only with an importance matrix, are worth more. With 11 starts in place of 4, errors of Q4_K fall by 0.7 %.
//
// Results are the same on all machines: operations are those of float64, and no product is fused with a sum (mul). A
// float64 holds squares of all float32.
type encoder struct {
	*Scheme
	starts []float64 // what the first scales of fit map the extreme of a group to

	// Values are integers. So numbers whose doubles have the same floor have the same nearest value. The index in the
	// tables is that floor minus first, which is twice the smallest value.
	first float64
	last  int                   // the largest index
	value [2 * superLen]float64 // without the offset
	code  [2 * superLen]uint8   // its bits
}

func newEncoder(s *Scheme) *encoder {
	lowest, highest := math.MaxInt, math.MinInt
	for q := range 1 << s.Bits {
		v := s.valueOf(uint8(q))
		lowest, highest = min(lowest, v), max(highest, v)
	}
	e := &encoder{Scheme: s, first: float64(2 * lowest), last: 2 * (highest - lowest)}
	for k := range e.last + 1 {
		e.code[k] = s.nearest(float64(2*lowest+k)/2 + 0.25)
		e.value[k] = float64(s.valueOf(e.code[k]))
	}
	e.starts = s.starts(float64(lowest), float64(highest))
	return e
}

// valueOf returns the value of an element whose bits are q, with its offset subtracted.
func (s *Scheme) valueOf(q uint8) int { return int(s.Value(q)) - s.Offset }

// nearest returns the bits of the value nearest to t.
func (s *Scheme) nearest(t float64) (best uint8) {
	least := math.Inf(1)
	for q := range 1 << s.Bits {
		if off := math.Abs(float64(s.valueOf(uint8(q))) - t); off < least {
			best, least = uint8(q), off
		}
	}
	return best
}

// starts returns what fit maps the extreme of a group to: numbers near the ends of the range of values. Beyond an end the
// extreme is clipped, and the others have finer steps. Those within are values, so that elements that have been decoded are
// often encoded as they were. The first covers all. Of many sets tried, these have small errors for normally distributed and
// uniform elements.
func (s *Scheme) starts(lowest, highest float64) []float64 {
	if s.Mins {
		return []float64{highest, highest + 0.5, highest - 0.5, highest - 1}
	}
	step := 1.0
	if s.Values != nil {
		step = (highest - lowest) / 16
	}
	return []float64{lowest, lowest - 0.5*step, lowest + 0.5*step, lowest + step, highest, highest - step}
}

// encode converts a block.
func (e *encoder) encode(dst []byte, src []float32) error {
	extreme, err := largest(src)
	if err != nil {
		return err
	}
	var x [superLen]float64
	for i, v := range src {
		x[i] = float64(v)
	}
	b := fitting{groups: len(src) / e.Group}
	for i := range b.groups {
		b.group[i].x = x[i*e.Group:][:e.Group]
		e.fit(&b.group[i])
	}
	if least := slices.Min(src); e.Mins && !e.Super && abs32(least) > largestF16 {
		return tooLarge(src, least, "as the block's min is a float16")
	}
	if !e.units(&b) {
		if e.Power {
			return tooLarge(src, extreme, "as sums of products with this format's numbers are beyond float32")
		}
		return tooLarge(src, extreme, "as the block's scale is a float16")
	}
	if !e.Power {
		e.choose(&b, 1)
		e.refine(&b)
		e.shrink(&b)
	}
	e.join(dst, e.fields(&b))
	return nil
}

// fitting is a block that is encoded.
type fitting struct {
	group  [superLen / 16]group
	groups int
	coding
}

// coding is what Fields have but for the bits of the elements, the sums for these, and the block's error. Errors are sums of
// squares.
type coding struct {
	d, m       uint16
	scale, min [superLen / 16]int8
	sums       [superLen / 16]sums
	err        float64
}

// fields returns the fields of a block.
func (e *encoder) fields(b *fitting) *Fields {
	f := &Fields{Scale: b.scale, Min: b.min, D: b.d, M: b.m}
	d, m := e.numbers(&b.coding)
	for i := range b.groups {
		q := f.Q[i*e.Group:]
		factor, bias := e.line(mul(d, float64(b.scale[i])), mul(m, float64(b.min[i])))
		for j, x := range b.group[i].x {
			q[j] = e.code[e.index(x, factor, bias)]
		}
	}
	return f
}

// units sets the units of a block, and reports whether they are finite.
func (e *encoder) units(b *fitting) bool {
	g := &b.group[0]
	switch {
	case e.Power:
		return e.power(b)
	case !e.Super:
		return e.setUnits(&b.coding, g.scale, g.low)
	}
	scale, low := 0.0, 0.0
	for i := range b.groups {
		g := &b.group[i]
		if math.Abs(g.scale) > math.Abs(scale) {
			scale = g.scale
		}
		low = max(low, g.low)
	}
	end := e.ScaleTop
	if -e.ScaleLow > end {
		end = e.ScaleLow
	}
	return e.setUnits(&b.coding, scale/float64(end), low/float64(max(e.MinTop, 1)))
}

// setUnits rounds units to float16, and reports whether they are finite.
func (e *encoder) setUnits(c *coding, d, m float64) bool {
	const one = 0x3c00 // as float16
	c.d = unitF16(d / float64(e.Float(one)))
	switch {
	case e.Mins && e.Super:
		c.m = unitF16(m)
	case e.Mins:
		c.m = F32ToF16(float32(max(-largestF16, min(m, largestF16)))) // a fitted one may be beyond the elements
	}
	d, m = e.numbers(c)
	return d-d == 0 && m-m == 0
}

// largestF16 is the largest finite float16.
const largestF16 = 65504

// numbers returns the units as numbers.
func (e *encoder) numbers(c *coding) (d, m float64) {
	return float64(e.Float(c.d)), float64(F16ToF32(c.m))
}

// power sets the unit of a block of a format of powers of two: the best of the smallest that covers the elements and the two
// below it. It reports whether it is at most that of LargestPower.
func (e *encoder) power(b *fitting) bool {
	g := &b.group[0]
	top := powerAbove(math.Abs(2 * g.extreme / e.first))
	b.scale[0], b.err = 1, math.Inf(1)
	for p := top; p >= max(top-2, 0); p-- {
		d := float64(BF16ToF32(powerBits(byte(p))))
		if err := g.error(e.round(g.x, d, 0), d, 0); err < b.err {
			b.d, b.err = powerBits(byte(p)), err
		}
	}
	return b.d <= powerBits(LargestPower)
}

// LargestPower is the largest e for a block of MXFP4 with the scale 2^(e-128). Sums of the products of a block's integers, up to
// 32·24·127, are scaled in float32 before the scale of x makes them smaller. Larger scales, which are those of numbers beyond
// 10^34, would make infinite products of finite numbers.
const LargestPower = 238

// powerAbove returns the argument of powerBits for the smallest power of two that is not below x.
func powerAbove(x float64) int {
	f, e := math.Frexp(x)
	if f == 0 {
		return 0
	}
	if f == 0.5 {
		e--
	}
	return max(0, min(e+128, 255))
}

// unitF16 returns the float16 nearest to x. A subnormal one, which has few bits, is rounded away from zero instead: multiples
// of a smaller unit do not reach the largest of a block's numbers, and those of zero none. See shrink.
func unitF16(x float64) uint16 {
	const normal = 1. / (1 << 14)
	bits := F32ToF16(float32(x))
	if d := math.Abs(float64(F16ToF32(bits))); d < normal && d < math.Abs(x) {
		bits++
	}
	return bits
}

// tooLarge is the error of an element that no block with the others can hold.
func tooLarge(src []float32, x float32, why string) error {
	return &elementError{index: max(0, slices.Index(src, x)), value: x, why: "too large to be quantized, " + why}
}
