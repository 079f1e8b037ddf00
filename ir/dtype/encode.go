package dtype

import "math"

// schemeCodec is the codec of a format with a scheme.
func schemeCodec(d DType) codec {
	s := schemes[d]
	return codec{decode: s.decode, encode: s.encode}
}

// encode converts a block. Each group gets the scale, and the min, that cover its elements: with mins, the
// smallest is the first value and the largest the last one; without, the element of the largest magnitude is the
// value of the largest magnitude. Scales are then rounded to multiples of the block's, and elements to the nearest
// values. This is the start of what ggml's quantizers do; those search for scales of a smaller error.
func (s *Scheme) encode(dst []byte, src []float32) error {
	extreme, err := largest(src)
	if err != nil {
		return err
	}
	groups := len(src) / s.Group
	var scale, low [superLen / 16]float64
	for g := range groups {
		scale[g], low[g] = s.fit(src[g*s.Group:][:s.Group])
	}
	var f Fields
	s.encodeScales(&f, scale[:groups], low[:groups])
	d, m := float64(s.Float(f.D)), float64(F16ToF32(f.M))
	if d-d != 0 || m-m != 0 {
		return &elementError{index: indexOf(src, extreme), value: extreme, why: "too large to be quantized, as the block's scale is a float16"}
	}
	for i, x := range src {
		unit, min := d, m
		if s.Super {
			unit, min = d*float64(f.Scale[i/s.Group]), m*float64(f.Min[i/s.Group])
		}
		if !s.Mins {
			min = 0
		}
		f.Q[i] = s.nearest(float64(x)+min, unit)
	}
	s.join(dst, &f)
	return nil
}

// fit returns the scale and the min of a group.
func (s *Scheme) fit(src []float32) (scale, low float64) {
	if !s.Mins {
		first := s.extreme()
		m, _ := largest(src)
		return float64(m) / first, 0
	}
	least, most := float64(src[0]), float64(src[0])
	for _, x := range src {
		least, most = min(least, float64(x)), max(most, float64(x))
	}
	if s.Super { // where mins have no sign
		least, most = min(least, 0), max(most, 0)
	}
	return (most - least) / float64(int(1)<<s.Bits-1), -least
}

// extreme returns the value of the largest magnitude, with its sign.
func (s *Scheme) extreme() (first float64) {
	for q := range 1 << s.Bits {
		v := float64(int(s.Value(uint8(q))) - s.Offset)
		if math.Abs(v) > math.Abs(first) {
			first = v
		}
	}
	return first
}

// encodeScales sets D, M, and the integer scales and mins.
func (s *Scheme) encodeScales(f *Fields, scale, low []float64) {
	switch {
	case s.Power:
		f.D = powerAbove(math.Abs(scale[0]))
		return
	case !s.Super:
		f.D, f.M = unitF16(scale[0]), F32ToF16(float32(low[0]))
		return
	}
	f.D = s.unit(f.Scale[:], scale, s.ScaleLow, s.ScaleTop, s.Float)
	if s.Mins {
		f.M = s.unit(f.Min[:], low, 0, s.MinTop, F16ToF32)
	}
}

// unit chooses a float16 and makes dst the multiples of it that are nearest to the numbers of src. The number
// with the largest magnitude becomes the end of the range [lowest, top] that has the larger one.
func (s *Scheme) unit(dst []int8, src []float64, lowest, top int, float func(uint16) float32) uint16 {
	extreme := 0.0
	for _, x := range src {
		if math.Abs(x) > math.Abs(extreme) {
			extreme = x
		}
	}
	end := top
	if -lowest > top {
		end = lowest
	}
	const one = 0x3c00 // as float16
	bits := unitF16(extreme / float64(end) / float64(float(one)))
	d := float64(float(bits))
	for i, x := range src {
		dst[i] = 0
		if d != 0 {
			dst[i] = int8(max(float64(lowest), min(float64(top), math.Round(x/d))))
		}
	}
	return bits
}

// unitF16 returns the float16 nearest to x. A subnormal one, which has few bits, is rounded away from zero instead: multiples
// of a smaller unit do not reach the largest of a block's numbers, and those of zero none.
func unitF16(x float64) uint16 {
	const normal = 1. / (1 << 14)
	bits := F32ToF16(float32(x))
	if d := math.Abs(float64(F16ToF32(bits))); d < normal && d < math.Abs(x) {
		bits++
	}
	return bits
}

// nearest returns the bits of the value that, times unit, is nearest to x.
func (s *Scheme) nearest(x, unit float64) uint8 {
	if s.Values == nil {
		if unit == 0 {
			return uint8(s.Offset)
		}
		return uint8(max(0, min(float64(int(1)<<s.Bits-1), math.Round(x/unit)+float64(s.Offset))))
	}
	best, least := uint8(0), math.Inf(1)
	for q, v := range s.Values {
		if off := math.Abs(float64(int(v)-s.Offset)*unit - x); off < least {
			best, least = uint8(q), off
		}
	}
	return best
}

// powerAbove returns the bits of the smallest power of two that is not below x, as bfloat16.
func powerAbove(x float64) uint16 {
	for e := range 256 {
		if float64(BF16ToF32(powerBits(byte(e)))) >= x {
			return powerBits(byte(e))
		}
	}
	return powerBits(255)
}

// indexOf returns the index of x in src.
func indexOf(src []float32, x float32) int {
	for i, v := range src {
		if v == x {
			return i
		}
	}
	return 0
}
