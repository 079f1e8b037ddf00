//go:build !purego

package cpu

import "unsafe"

// vectorsAVX2 puts the 256-bit loops over rows in.
func (im *implementation) vectorsAVX2() {
	im.binary[binaryAdd], im.binary[binarySub] = addAVX2, subAVX2
	im.binary[binaryMul], im.binary[binarySwiGLU] = mulAVX2, swigluAVX2
	im.unary[unarySiLU], im.unary[unarySigmoid] = siluAVX2, sigmoidAVX2
	im.unary[unaryGELU], im.unary[unaryExp] = geluAVX2, expAVX2
	im.scale, im.blend, im.mulScale = scaleAVX2, blendAVX2, mulScaleAVX2
	im.f32ToF16, im.f16ToF32, im.decodeQ8, im.decodeQ4 = castF32F16AVX2, castF16F32AVX2, decodeQ8AVX2, decodeQ4AVX2
	im.f32ToBF16, im.bf16ToF32, im.normBF16 = castF32BF16AVX2, castBF16F32AVX2, normToBF16AVX2
	im.panelToBF16 = panelToBF16AVX2
	im.sumSquares, im.maxRow, im.expSum = sumSquaresAVX2, maxRowAVX2, expSumAVX2
	im.quantize, im.normQ8A = quantizeAVX2, normQ8AAVX2
	im.quantizeBounded, im.normBounded = quantizeBoundedAVX2, normBoundedQ8AAVX2
	im.quantizeK, im.normQ8AK = quantizeKAVX2, normQ8AKAVX2
	im.attention = []*attentionLoops{&avx2Attention, &genericAttention}
	im.probe = probe{f32: peakFMAAVX2, f32Ops: 12 * 8 * 2, read: peakReadAVX2}
}

// vectorsAVX512 puts the 512-bit loops over rows in.
func (im *implementation) vectorsAVX512() {
	im.binary[binaryAdd], im.binary[binarySub] = addAVX512, subAVX512
	im.binary[binaryMul], im.binary[binarySwiGLU] = mulAVX512, swigluAVX512
	im.unary[unarySiLU], im.unary[unarySigmoid] = siluAVX512, sigmoidAVX512
	im.unary[unaryGELU], im.unary[unaryExp] = geluAVX512, expAVX512
	im.scale, im.blend, im.mulScale = scaleAVX512, blendAVX512, mulScaleAVX512
	im.f32ToF16, im.f16ToF32, im.decodeQ8, im.decodeQ4 = castF32F16AVX512, castF16F32AVX512, decodeQ8AVX512, decodeQ4AVX512
	im.f32ToBF16, im.bf16ToF32, im.normBF16 = castF32BF16AVX512, castBF16F32AVX512, normToBF16AVX512
	im.panelToBF16 = panelToBF16AVX512
	im.sumSquares, im.maxRow, im.expSum = sumSquaresAVX512, maxRowAVX512, expSumAVX512
	im.quantize, im.normQ8A = quantizeAVX512, normQ8AAVX512
	im.quantizeK, im.normQ8AK = quantizeKAVX512, normQ8AKAVX512
	im.attention = []*attentionLoops{&avx512Attention, &avx512ShortAttention, &genericAttention}
	im.probe = probe{f32: peakFMAAVX512, f32Ops: 12 * 16 * 2, read: peakReadAVX512}
}

func castF32F16AVX2(dst, x unsafe.Pointer, n int) {
	f32ToF16AVX2(dst, x, n&^7)
	f32ToF16Generic(halfAt(dst, n&^7), floatAt(x, n&^7), n&7)
}

func castF16F32AVX2(dst, x unsafe.Pointer, n int) {
	f16ToF32AVX2(dst, x, n&^7)
	f16ToF32Generic(floatAt(dst, n&^7), halfAt(x, n&^7), n&7)
}

func castF32F16AVX512(dst, x unsafe.Pointer, n int) {
	f32ToF16AVX512(dst, x, n&^15)
	f32ToF16Generic(halfAt(dst, n&^15), floatAt(x, n&^15), n&15)
}

func castF16F32AVX512(dst, x unsafe.Pointer, n int) {
	f16ToF32AVX512(dst, x, n&^15)
	f16ToF32Generic(floatAt(dst, n&^15), halfAt(x, n&^15), n&15)
}

func castF32BF16AVX2(dst, x unsafe.Pointer, n int) {
	f32ToBF16AVX2(dst, x, n&^7)
	f32ToBF16Generic(halfAt(dst, n&^7), floatAt(x, n&^7), n&7)
}

func castBF16F32AVX2(dst, x unsafe.Pointer, n int) {
	bf16ToF32AVX2(dst, x, n&^7)
	bf16ToF32Generic(floatAt(dst, n&^7), halfAt(x, n&^7), n&7)
}

func normToBF16AVX2(dst, x, w unsafe.Pointer, n int, scale float32) {
	normBF16AVX2(dst, x, w, n&^7, scale)
	normBF16Generic(halfAt(dst, n&^7), floatAt(x, n&^7), floatAt(w, n&^7), n&7, scale)
}

func castF32BF16AVX512(dst, x unsafe.Pointer, n int) {
	f32ToBF16AVX512(dst, x, n&^15)
	f32ToBF16Generic(halfAt(dst, n&^15), floatAt(x, n&^15), n&15)
}

func castBF16F32AVX512(dst, x unsafe.Pointer, n int) {
	bf16ToF32AVX512(dst, x, n&^15)
	bf16ToF32Generic(floatAt(dst, n&^15), halfAt(x, n&^15), n&15)
}

func normToBF16AVX512(dst, x, w unsafe.Pointer, n int, scale float32) {
	normBF16AVX512(dst, x, w, n&^15, scale)
	normBF16Generic(halfAt(dst, n&^15), floatAt(x, n&^15), floatAt(w, n&^15), n&15, scale)
}
