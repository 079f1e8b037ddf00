package cpu

import "github.com/ggmlc/ggmlc/kernels/cpu/tile"

// genericImplementation is pure Go throughout: what every other one is compared with.
func genericImplementation() implementation {
	return implementation{
		name:            tile.Generic,
		present:         func() bool { return true },
		matmul:          genericMatMul,
		swiglu:          genericSwiGLU,
		expanded:        genericExpanded(),
		binary:          genericBinary,
		unary:           genericUnary,
		scale:           scaleGeneric,
		blend:           blendGeneric,
		f32ToF16:        f32ToF16Generic,
		f16ToF32:        f16ToF32Generic,
		f32ToBF16:       f32ToBF16Generic,
		bf16ToF32:       bf16ToF32Generic,
		decodeQ8:        decodeQ8Generic,
		decodeQ4:        decodeQ4Generic,
		panelToBF16:     panelToBF16Generic,
		sumSquares:      sumSquaresGeneric,
		mulScale:        mulScaleGeneric,
		quantize:        quantizeGeneric,
		quantizeBounded: quantizeGeneric,
		normBounded:     normQ8AGeneric,
		normQ8A:         normQ8AGeneric,
		quantizeK:       quantizeKGeneric,
		normQ8AK:        normQ8AKGeneric,
		normBF16:        normBF16Generic,
		maxRow:          maxRowGeneric,
		expSum:          expSumGeneric,
		attention:       []*attentionLoops{&genericAttention},
	}
}
