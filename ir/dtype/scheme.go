package dtype

// Scheme states what the integers of a block format mean. Element i, in group g = i/Group of its block, is
//
//	D·Scale[g]·(value - Offset) - M·Min[g]
//
// where value is Q[i], or Values[Q[i]] if there is such a table, and the other names are those of Fields.
// A format with a scheme is only split (Split) and put together (Join) by code of its own: decoding,
// encoding and panels are the same for all.
type Scheme struct {
	Bits   int        // of an element of Q
	Values *[16]uint8 // nil if an element is its own value
	Offset int
	Group  int // elements that share a scale: 32 or 16

	// A block of 256 elements has a scale of its own, by which the groups' integer scales and mins are
	// multiplied. A block of 32 has one group, whose scale and min are 1.
	Super              bool
	ScaleLow, ScaleTop int  // the range of integer scales
	Mins               bool // groups have mins; otherwise M is 0
	MinTop             int  // the largest integer min; the smallest is 0

	Power bool // D has the bits of a bfloat16, a power of two; otherwise those of a float16
	Shift int  // D is that float16 divided by 2^Shift

	split func(f *Fields, src []byte)
	join  func(dst []byte, f *Fields)
}

// Fields are what a block of a format with a scheme consists of. Formats with fewer elements or groups leave
// the rest of the arrays as it is.
type Fields struct {
	Q          [superLen]uint8
	Scale, Min [superLen / 16]int8
	D, M       uint16 // bits; see Scheme
}

// valuesIQ4 is ggml's kvalues_iq4nl (ggml-common.h) plus 128, the Offset of its formats.
var valuesIQ4 = [16]uint8{1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241}

// valuesE2M1 is twice the numbers with one sign bit, two exponent bits and one mantissa bit, plus 12.
var valuesE2M1 = [16]uint8{12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0}

// valuesIQ2 are the values of IQ2 and of IQ1 times 8, without an offset: codes 0 to 2 are the magnitudes of IQ2, 3 to 5
// those of IQ1, 6 and 7 zero, and those from 8 on the same with the other sign.
var valuesIQ2 = [16]int{8, 25, 43, 1, 7, 9, 0, 0, -8, -25, -43, -1, -7, -9, 0, 0}

// valuesIQ3XXS and valuesIQ3S are the values of IQ3_XXS and IQ3_S.
var (
	valuesIQ3XXS = [16]int{4, 12, 20, 28, 36, 44, 52, 62, -4, -12, -20, -28, -36, -44, -52, -62}
	valuesIQ3S   = [16]int{1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15}
)

// from returns values plus an offset.
func from(offset int, values [16]int) *[16]uint8 {
	var u [16]uint8
	for i, v := range values {
		u[i] = uint8(v + offset)
	}
	return &u
}

// schemes is keyed by DType; nil for formats without one.
var schemes = [NumDTypes]*Scheme{
	Q4_1:   {Bits: 4, Group: 32, Mins: true, split: splitQ4_1, join: joinQ4_1},
	Q5_0:   {Bits: 5, Group: 32, Offset: 16, split: splitQ5_0, join: joinQ5_0},
	Q5_1:   {Bits: 5, Group: 32, Mins: true, split: splitQ5_1, join: joinQ5_1},
	Q2_K:   {Bits: 2, Group: 16, Super: true, ScaleTop: 15, Mins: true, MinTop: 15, split: splitQ2_K, join: joinQ2_K},
	Q3_K:   {Bits: 3, Group: 16, Super: true, ScaleLow: -32, ScaleTop: 31, Offset: 4, split: splitQ3_K, join: joinQ3_K},
	Q4_K:   {Bits: 4, Group: 32, Super: true, ScaleTop: 63, Mins: true, MinTop: 63, split: splitQ4_K, join: joinQ4_K},
	Q5_K:   {Bits: 5, Group: 32, Super: true, ScaleTop: 63, Mins: true, MinTop: 63, split: splitQ5_K, join: joinQ5_K},
	Q6_K:   {Bits: 6, Group: 16, Super: true, ScaleLow: -128, ScaleTop: 127, Offset: 32, split: splitQ6_K, join: joinQ6_K},
	IQ4_NL: {Bits: 4, Group: 32, Values: &valuesIQ4, Offset: 128, split: splitIQ4_NL, join: joinIQ4_NL},
	IQ4_XS: {Bits: 4, Group: 32, Super: true, ScaleLow: -32, ScaleTop: 31, Values: &valuesIQ4, Offset: 128, split: splitIQ4_XS, join: joinIQ4_XS},
	MXFP4:  {Bits: 4, Group: 32, Values: &valuesE2M1, Offset: 12, Power: true, split: splitMXFP4, join: joinMXFP4},

	IQ2X:   {Bits: 4, Group: 32, Super: true, ScaleLow: -128, ScaleTop: 127, Values: from(128, valuesIQ2), Offset: 128, Shift: 3, split: splitIQX(8), join: joinIQX(8)},
	IQ2X16: {Bits: 4, Group: 16, Super: true, ScaleLow: -128, ScaleTop: 127, Values: from(43, valuesIQ2), Offset: 43, Shift: 3, split: splitIQX(16), join: joinIQX(16)},
	IQ3X:   {Bits: 4, Group: 32, Super: true, ScaleLow: -128, ScaleTop: 127, Values: from(128, valuesIQ3XXS), Offset: 128, Shift: 2, split: splitIQX(8), join: joinIQX(8)},
	IQ3SX:  {Bits: 4, Group: 32, Super: true, ScaleLow: -128, ScaleTop: 127, Values: from(15, valuesIQ3S), Offset: 15, split: splitIQX(8), join: joinIQX(8)},
}

// Scheme returns the scheme of d, or nil if it has none.
func (d DType) Scheme() *Scheme {
	if !d.Valid() {
		return nil
	}
	return schemes[d]
}

// Split reads a block.
func (s *Scheme) Split(f *Fields, src []byte) { s.split(f, src) }

// Join writes a block. It is the inverse of Split.
func (s *Scheme) Join(dst []byte, f *Fields) { s.join(dst, f) }

// Value returns the value of an element whose bits are q, without its offset.
func (s *Scheme) Value(q uint8) uint8 {
	if s.Values != nil {
		return s.Values[q&15]
	}
	return q
}

// Blocks of 32 elements and their groups are the parts of a panel's block. PanelSub states the bytes.
const subLen = 32

// Subs returns the number of parts of 32 elements in a block.
func (s *Scheme) Subs() int {
	if s.Super {
		return superLen / subLen
	}
	return 1
}

// Planes returns how the bits of an element are divided over the planes of a panel, the lowest bits first: planes of
// 4, 2 or 1 bits.
func (s *Scheme) Planes() []int {
	return [...][]int{2: {2}, 3: {2, 1}, 4: {4}, 5: {4, 1}, 6: {4, 2}}[s.Bits]
}

// PanelHead returns the bytes before the parts of a panel's block: D of 16 rows, and M where there are mins.
func (s *Scheme) PanelHead() int {
	if s.Mins {
		return 2 * 2 * PanelRows
	}
	return 2 * PanelRows
}

// PanelScales returns the offset of the integer scales in a part of a panel's block, and that of the mins; they are
// bytes, 16 for each group. A format without integer scales has none.
func (s *Scheme) PanelScales() (scales, mins int) {
	scales = s.Bits * 4 * PanelRows
	return scales, scales + subLen/s.Group*PanelRows
}

// PanelSub returns the bytes of a part of a panel's block: planes, integer scales, integer mins.
func (s *Scheme) PanelSub() int {
	scales, mins := s.PanelScales()
	switch {
	case !s.Super:
		return scales
	case s.Mins:
		return 2*mins - scales
	}
	return mins
}

// PanelBytes returns the bytes of a block of a panel. It has no more bits than 16 plain blocks but for integer scales
// and mins of fewer than 8 bits, which take 8.
func (s *Scheme) PanelBytes() int { return s.PanelHead() + s.Subs()*s.PanelSub() }

// Float returns the number that D has the bits of.
func (s *Scheme) Float(d uint16) float32 {
	if s.Power {
		return BF16ToF32(d)
	}
	return F16ToF32(d) / float32(int(1)<<s.Shift)
}

// decode converts a block.
func (s *Scheme) decode(dst []float64, src []byte) {
	var f Fields
	s.split(&f, src)
	s.Elements(dst, &f)
}

// Elements sets dst to the elements of a block, exactly.
func (s *Scheme) Elements(dst []float64, f *Fields) {
	d, m := float64(s.Float(f.D)), 0.0
	if s.Mins {
		m = float64(F16ToF32(f.M))
	}
	for i := range dst {
		scale, low := d, m
		if s.Super {
			scale, low = d*float64(f.Scale[i/s.Group]), m*float64(f.Min[i/s.Group])
		}
		dst[i] = scale*float64(int(s.Value(f.Q[i]))-s.Offset) - low
	}
}

// ScaleOffsets returns the offsets of the f16 scales in a block of d. IQ1_M has one that is not in a place of its own.
func (d DType) ScaleOffsets() []int {
	switch d {
	case Q8_0, Q4_0, Q5_0, IQ4_NL, IQ4_XS, IQ2X, IQ2X16, IQ3X, IQ3SX, IQ1_S, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S:
		return []int{0}
	case Q4_1, Q5_1, Q4_K, Q5_K:
		return []int{0, 2}
	case Q2_K:
		return []int{80, 82}
	case Q3_K:
		return []int{108}
	case TQ1_0:
		return []int{52}
	case TQ2_0:
		return []int{64}
	case Q6_K:
		return []int{208}
	}
	return nil
}
