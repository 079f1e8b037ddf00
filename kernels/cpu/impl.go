package cpu

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// rowBinary computes n elements of dst from a and b. dst may be a or b.
type rowBinary func(dst, a, b unsafe.Pointer, n int)

// rowUnary computes n elements of dst from x. dst may be x if the elements have one size.
type rowUnary func(dst, x unsafe.Pointer, n int)

// implementation is one full set of inner loops. Exported kernels loop over tiles, rows or
// runs and call these; an assembly implementation is a copy of a lesser one with faster
// entries put in.
type implementation struct {
	name    tile.Feature
	base    tile.Feature // the lesser one
	present func() bool  // whether this processor has the instructions
	slow    bool         // here the lesser one is faster

	// fewPlaces, where not 0, is the number of places at which one row reads weights of a format at once; if it limits any
	// format, swiglu reads each weight at one place. Otherwise there are as many as tiles have panels, four at most.
	fewPlaces [numFormats]int

	// ahead is how many bytes ahead of use one row prefetches panels: see prefetchDistance.
	ahead [numFormats]int

	matmul [numFormats]tileSet // y = x·wᵀ (+ res)
	swiglu [numFormats]tileSet // y = silu(x·gateᵀ) * (x·upᵀ)

	// deepMatMul and deepSwiGLU are used instead where k is a multiple of deepLen; nil if there are none.
	deepMatMul, deepSwiGLU [numFormats]tileSet

	// widened is used for several rows of x instead, with one weight and with two; nil if there is none.
	// There are such tiles of bf16 only.
	widened [numFormats][]widenedTile

	// signed is used for several rows of x instead, before squares and expanded; nil if there is none.
	signed [numFormats]*signedTiles

	// expanded is used for several rows of x instead; nil if there are no such tiles.
	expanded [numFormats]*expansion

	// squares is used for many rows of x instead: see squaresFor.
	squares [numFormats]*squareKernel

	binary [numBinary]rowBinary
	unary  [numUnary]rowUnary
	scale  func(dst, x unsafe.Pointer, n int, scale, bias float32)
	blend  func(dst, x unsafe.Pointer, n int, keep, add float32) // dst*keep + x*add

	f32ToF16, f16ToF32, decodeQ8, decodeQ4 rowUnary
	f32ToBF16, bf16ToF32                   rowUnary

	panelToBF16 func(dst, x unsafe.Pointer, rows, stride int) // rows of 16; the distance of rows of dst is stride bytes

	sumSquares func(x unsafe.Pointer, n int) float64
	mulScale   func(dst, x, w unsafe.Pointer, n int, scale float32)    // x*scale*w
	quantize   rowUnary                                                // n elements to q8a
	normQ8A    func(dst, x, w unsafe.Pointer, n int, scale float32)    // x*scale*w to q8a
	quantizeK  rowUnary                                                // n elements to q8a_k
	normQ8AK   func(dst, x, w unsafe.Pointer, n int, scale float32)    // x*scale*w to q8a_k
	normBF16   func(dst, x, w unsafe.Pointer, n int, scale float32)    // x*scale*w to bf16
	maxRow     func(x unsafe.Pointer, n int) float32                   // may overlook NaN
	expSum     func(dst, x unsafe.Pointer, n int, max float32) float32 // dst = exp(x-max)

	// quantizeBounded and normBounded are quantize and normQ8A for products with q8_0; for AVX2 they make bounded blocks.
	quantizeBounded rowUnary
	normBounded     func(dst, x, w unsafe.Pointer, n int, scale float32)

	attention        []*attentionLoops // the first that handles a length of rows
	roundedAttention *attentionLoops   // with products of bfloat16, if there are such

	prefetch func(p unsafe.Pointer, lines int) // nil if there is none
	probe    probe
}

// implementations is the table of what this build contains, from the least to the most demanding.
// Choose changes the tiles of its entries.
var implementations = usual(builtin())

// byteFormats are the formats of weights that are bytes or less.
var byteFormats = []format{
	formatQ8, formatQ4,
	formatQ41,
	formatQ50,
	formatQ51,
	formatQ2K,
	formatQ3K,
	formatQ4K,
	formatQ5K,
	formatQ6K,
	formatIQ4NL,
	formatIQ4XS,
	formatMXFP4,
	formatIQ2X,
	formatIQ2X16,
	formatIQ3X,
	formatIQ3SX,
}

// usual returns the implementations with their default tiles.
func usual(all []implementation) []implementation {
	for i := range all {
		im := &all[i]
		if im.fewPlaces == [numFormats]int{} {
			continue
		}
		for f, most := range im.fewPlaces {
			if most > 0 {
				im.matmul[f] = im.matmul[f].places(most)
			}
			im.swiglu[f], im.deepSwiGLU[f] = im.swiglu[f].places(1), im.deepSwiGLU[f].places(1)
		}
	}
	return all
}

// tilesOf returns the implementation, im or a lesser one, whose tiles im uses for weights of dtype w where nothing
// takes many of k at once.
func (im *implementation) tilesOf(w dtype.DType) tile.Feature {
	name := im.name
	for tile.Find(name, w) == nil {
		i := slices.IndexFunc(implementations, func(o implementation) bool { return o.name == name })
		name = implementations[i].base
	}
	return name
}

// active is the implementation that all kernels use.
var active = best()

// pays reports whether this implementation is faster here than a lesser one.
func (im *implementation) pays(than *implementation) bool { return !im.slow || than.name != im.base }

// best returns the last implementation whose instructions are present and not slow.
func best() *implementation {
	chosen := &implementations[0]
	for i := range implementations {
		if im := &implementations[i]; im.present() && im.pays(chosen) {
			chosen = im
		}
	}
	return chosen
}

// Available returns the names of the implementations that this processor can run, from
// the least to the most demanding; "generic" is always the first.
func Available() []string {
	var names []string
	for i := range implementations {
		if implementations[i].present() {
			names = append(names, string(implementations[i].name))
		}
	}
	return names
}

// Active returns the name of the implementation in use.
func Active() string { return string(active.name) }

// Best returns the name of the implementation that is chosen at start.
func Best() string { return string(best().name) }

// SelectAmong selects the most demanding of the named implementations that this processor
// can run, one that is slow here only without the lesser one, and reports whether there is one; no names
// leave things as they are. Like Select it is for tests and for a program's start.
func SelectAmong(names []string) bool {
	var chosen *implementation
	for i := range implementations {
		im := &implementations[i]
		if slices.Contains(names, string(im.name)) && im.present() && (chosen == nil || im.pays(chosen)) {
			chosen = im
		}
	}
	if chosen != nil {
		active = chosen
	}
	return chosen != nil || len(names) == 0
}

// Select makes all kernels use the named implementation. It must not be called while a
// kernel runs: it is for tests, and for a program's start. The error distinguishes a name that is
// unknown, one that this build lacks, and one that this processor cannot run.
func Select(name string) error {
	for i := range implementations {
		im := &implementations[i]
		if string(im.name) != name {
			continue
		}
		if !im.present() {
			return fmt.Errorf("this processor cannot run the %s kernels: it has %v", name, Available())
		}
		active = im
		return nil
	}
	return fmt.Errorf("no kernels named %q in this build: it has %v", name, Available())
}
