package spirv

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kirtest"
)

// tiles fills a kernel with all operations on tiles of a kind.
func (b *builder) tiles(k kir.Kind) {
	zero, one := b.Int(0), b.Int(1)
	words, sums := b.NewShared("words", kir.Vector(k, 4), 128), b.NewShared("sums", kir.Scalar(kir.F32), 512)
	single := b.NewShared("single", kir.Scalar(k), 512)
	b.SharedStore(words, b.Thread(), b.read(words.Elem))
	b.SharedStore(single, b.Thread(), b.Extract(b.read(words.Elem), 1))
	b.SharedStore(sums, b.Thread(), b.Float(0))
	b.Barrier()
	x, y := kir.Tile(k, kir.TileA), kir.Tile(k, kir.TileB)
	factor := b.TileSharedLoad(x, words, zero, 6)
	start := []*kir.Value{b.TileFill(b.Float(1)), factor}
	carried := b.For(zero, b.n, one, start, func(_ *kir.Value, c []*kir.Value) []*kir.Value {
		other := b.TileMulAdd(c[1], b.TileSharedLoad(y, words, zero, 4), c[0])
		return []*kir.Value{other, b.TileTurned(x, single, zero, 24)}
	})
	sum := b.Choose(b.Eq(b.Subgroup(), zero), func() []*kir.Value {
		return []*kir.Value{b.TileMulAdd(b.TileLoad(x, b.x, 16), b.TileTurned(y, words, zero, 4), carried[0])}
	}, func() []*kir.Value {
		return []*kir.Value{b.TileSharedLoad(kir.Tile(kir.F32, kir.TileSum), sums, zero, 20)}
	})[0]
	sum = b.TileMulAdd(b.TileLoad(x, b.x, 24), b.TileLoad(y, b.x, 32), sum)
	sum = b.TileMulAdd(factor, b.TileLoad(y, b.x, 16), sum)
	b.TileSharedStore(sums, zero, b.TileMulAdd(factor, b.TileLoad(y, b.x, 16), sum), 16)
	b.TileLoad(kir.Tile(kir.F32, kir.TileSum), b.y, 16)
}

// instructions calls visit for each instruction of a module, with its words after the first one.
func instructions(module []uint32, visit func(code opcode, operands []uint32)) {
	for at := headerWords; at < len(module); at += int(module[at] >> 16) {
		visit(opcode(module[at]), module[at+1:at+int(module[at]>>16)])
	}
}

// defined is the instruction that gives an id, with the type of the result and the other operands.
type defined struct {
	code     opcode
	typ      id
	operands []uint32
}

// definitions returns what gives the ids that instructions on matrices have as operands.
func definitions(module []uint32) map[id]defined {
	all := make(map[id]defined)
	instructions(module, func(code opcode, o []uint32) {
		switch code {
		case opTypeFloat, opTypeInt, opTypeVector, opTypePointer, opTypeCooperativeMatrixKHR:
			all[o[0]] = defined{code, 0, o[1:]}
		case opConstant, opCooperativeMatrixLoadKHR, opCooperativeMatrixMulAddKHR, opAccessChain, opPhi, opCompositeConstruct:
			all[o[1]] = defined{code, o[0], o[2:]}
		}
	})
	return all
}

// matrixChecker checks the instructions on matrices of a module whose factors are of a kind.
type matrixChecker struct {
	*testing.T
	kind  kir.Kind
	all   map[id]defined
	count map[opcode]int
}

// constant returns the value of a constant, use that of a matrix.
func (c *matrixChecker) constant(x id) uint32 {
	d := c.all[x]
	if d.code != opConstant {
		c.Fatalf("%v: %d is no constant", c.kind, x)
	}
	return d.operands[0]
}

func (c *matrixChecker) use(x id) uint32 {
	m := c.all[c.all[x].typ]
	if m.code != opTypeCooperativeMatrixKHR {
		c.Fatalf("%v: %d is no matrix", c.kind, x)
	}
	return c.constant(m.operands[4])
}

func (c *matrixChecker) instruction(code opcode, o []uint32) {
	c.count[code]++
	switch code {
	case opTypeCooperativeMatrixKHR:
		c.matrixType(o)
	case opCooperativeMatrixMulAddKHR:
		got := []uint32{c.use(o[2]), c.use(o[3]), c.use(o[4]), c.use(o[1])}
		if len(o) != 5 || !slices.Equal(got, []uint32{matrixA, matrixB, matrixAccumulator, matrixAccumulator}) {
			c.Errorf("%v: a product of uses %d", c.kind, got)
		}
	case opCooperativeMatrixLoadKHR:
		c.access(o[2], o[1], o[3], o[4], o[5:])
	case opCooperativeMatrixStoreKHR:
		c.access(o[0], o[1], o[2], o[3], o[4:])
	}
}

func (c *matrixChecker) matrixType(o []uint32) {
	want := []uint32{16}
	if c.constant(o[5]) == matrixAccumulator {
		want[0] = 32
	} else if c.kind == kir.BF16 {
		want = append(want, encodingBFloat16KHR)
	}
	if f := c.all[o[1]]; f.code != opTypeFloat || !slices.Equal(f.operands, want) {
		c.Errorf("%v: the components of use %d are %v", c.kind, c.constant(o[5]), f)
	}
	if got := []uint32{c.constant(o[2]), c.constant(o[3]), c.constant(o[4])}; !slices.Equal(got, []uint32{scopeSubgroup, 16, 16}) {
		c.Errorf("%v: scope, rows and columns are %d", c.kind, got)
	}
}

// access checks a load or a store, given its operands by their names in the extension.
func (c *matrixChecker) access(pointer, object, layout, stride id, memory []uint32) {
	p := c.all[c.all[pointer].typ]
	elem := c.all[p.operands[1]]
	if elem.code != opTypeInt && elem.code != opTypeFloat && elem.code != opTypeVector || c.all[pointer].code != opAccessChain {
		c.Errorf("%v: a pointer to %v, which %v gives", c.kind, elem, c.all[pointer].code)
	}
	want := []uint32{accessNonPrivatePointer}
	if p.operands[0] == storagePhysicalStorageBuffer {
		want = []uint32{accessAligned | accessNonPrivatePointer, 16}
	}
	if !slices.Equal(memory, want) {
		c.Errorf("%v: memory operands %v of storage class %d", c.kind, memory, p.operands[0])
	}
	if c.use(object) == matrixAccumulator && c.constant(layout) != rowMajorKHR || c.constant(stride) == 0 {
		c.Errorf("%v: layout %d and stride %d", c.kind, c.constant(layout), c.constant(stride))
	}
}

// TestTilesAreCooperativeMatrices checks the instructions against the text of SPV_KHR_cooperative_matrix: spirv-val of
// 2023 does not know them.
func TestTilesAreCooperativeMatrices(t *testing.T) {
	want := map[opcode]int{opTypeCooperativeMatrixKHR: 3, opCooperativeMatrixMulAddKHR: 5, opCooperativeMatrixLoadKHR: 11, opCooperativeMatrixStoreKHR: 1}
	for _, k := range []kir.Kind{kir.F16, kir.BF16} {
		module := words32(t, sample(t, "k", func(b *builder) { b.tiles(k) }))
		c := &matrixChecker{t, k, definitions(module), make(map[opcode]int)}
		instructions(module, c.instruction)
		for code, n := range want {
			if c.count[code] != n {
				t.Errorf("%v: %d instructions %d, want %d", k, c.count[code], code, n)
			}
		}
	}
}

// TestTilesNeedCapabilities lists the capabilities, extensions and features of tiles.
func TestTilesNeedCapabilities(t *testing.T) {
	tests := []struct {
		kind       kir.Kind
		extensions []string
		features   []string
	}{
		{kir.F16, []string{"SPV_KHR_cooperative_matrix"}, []string{"cooperativeMatrix", "shaderFloat16"}},
		{kir.BF16, []string{"SPV_KHR_bfloat16", "SPV_KHR_cooperative_matrix"}, []string{"cooperativeMatrix", "shaderBFloat16CooperativeMatrix", "shaderBFloat16Type"}},
	}
	for _, tt := range tests {
		module := words32(t, sample(t, "k", func(b *builder) { b.TileLoad(kir.Tile(tt.kind, kir.TileA), b.x, 16) }))
		var extensions [][]uint32
		for _, e := range tt.extensions {
			extensions = append(extensions, literal(e))
		}
		if got := declared(module, opExtension); !slices.EqualFunc(got, extensions, slices.Equal[[]uint32]) {
			t.Errorf("%v: extensions %v", tt.kind, got)
		}
		got := Features(module)
		got = slices.DeleteFunc(got, func(f string) bool {
			return slices.Contains([]string{"bufferDeviceAddress", "shaderInt64", "vulkanMemoryModel"}, f)
		})
		if !slices.Equal(got, tt.features) {
			t.Errorf("%v: features %q instead of %q", tt.kind, got, tt.features)
		}
	}
}

// TestLayoutsOfTiles demands that the lines of a tile are rows or columns as package kir states.
func TestLayoutsOfTiles(t *testing.T) {
	tests := []struct {
		use    kir.Use
		turned bool
		layout uint32
	}{{kir.TileA, false, rowMajorKHR}, {kir.TileA, true, columnMajorKHR}, {kir.TileB, false, columnMajorKHR}, {kir.TileB, true, rowMajorKHR}}
	for _, tt := range tests {
		module := words32(t, sample(t, "k", func(b *builder) {
			s := b.NewShared("s", kir.Vector(kir.F16, 2), 256)
			load := b.TileSharedLoad
			if tt.turned {
				load = b.TileTurned
			}
			load(kir.Tile(kir.F16, tt.use), s, b.Int(0), 12)
		}))
		o := declared(module, opCooperativeMatrixLoadKHR)[0]
		all := definitions(module)
		if layout, stride := all[o[3]].operands[0], all[o[4]].operands[0]; layout != tt.layout || stride != 12 {
			t.Errorf("%v, turned %v: layout %d, stride %d", tt.use, tt.turned, layout, stride)
		}
	}
}

// Numbers of SPV_NV_cooperative_matrix, the older extension with the same instructions, which spirv-val of 2023 knows.
const (
	opTypeCooperativeMatrixNV   opcode = 5358
	opCooperativeMatrixLoadNV   opcode = 5359
	opCooperativeMatrixStoreNV  opcode = 5360
	opCooperativeMatrixMulAddNV opcode = 5361
	capCooperativeMatrixNV             = 5357
)

// older translates a module to the older extension. That has no uses, so types of different uses become one. It has no
// bf16, so that becomes f16. The order of operands differs. Whether columns are adjacent is a constant bool.
type older struct {
	all                    map[id]defined
	boolean, rows, columns id
	declared               bool      // the module has a type bool of its own
	same                   map[id]id // types that become another one
	first                  map[id]id // the first type of each component
	half                   id        // the type of f16, or of bf16 if there is no f16
	hasHalf                bool      // it is defined
	out                    words
}

func translate(module []uint32) []uint32 {
	last := module[3]
	t := &older{definitions(module), last, last + 1, last + 2, false, make(map[id]id), make(map[id]id), 0, false, slices.Clone(module[:headerWords])}
	t.out[3] = last + 3
	for _, o := range declared(module, opTypeFloat) {
		if o[1] == 16 && (len(o) == 2 || t.half == 0) {
			t.half = o[0]
		}
	}
	instructions(module, func(code opcode, o []uint32) { t.instruction(code, slices.Clone(o)) })
	return t.out
}

func (t *older) instruction(code opcode, o []uint32) {
	switch code {
	case opTypeBool:
		t.boolean, t.declared = o[0], true
	case opCapability:
		switch capability(o[0]) {
		case capCooperativeMatrixKHR:
			o[0] = capCooperativeMatrixNV
		case capBFloat16TypeKHR, capBFloat16CooperativeMatrixKHR:
			o[0] = uint32(capFloat16)
		}
	case opExtension:
		if !slices.Equal(o, literal("SPV_KHR_integer_dot_product")) {
			o = literal("SPV_NV_cooperative_matrix")
		}
	case opTypeFloat:
		if o[1] == 16 {
			if t.same[o[0]] = t.half; t.hasHalf {
				return
			}
			o, t.hasHalf = []uint32{t.half, 16}, true
		}
	case opTypeCooperativeMatrixKHR:
		if h := t.same[o[1]]; h != 0 {
			o[1] = h
		}
		if f, ok := t.first[o[1]]; ok {
			t.same[o[0]] = f
			return
		}
		t.first[o[1]], t.same[o[0]] = o[0], o[0]
		code, o = opTypeCooperativeMatrixNV, o[:5]
	case opCooperativeMatrixMulAddKHR:
		code = opCooperativeMatrixMulAddNV
	case opCooperativeMatrixLoadKHR:
		code, o[3], o[4] = opCooperativeMatrixLoadNV, o[4], t.adjacent(o[3])
	case opCooperativeMatrixStoreKHR:
		code, o[2], o[3] = opCooperativeMatrixStoreNV, o[3], t.adjacent(o[2])
	case opFunction:
		t.constants()
	}
	if len(o) > 0 && t.same[o[0]] != 0 {
		o[0] = t.same[o[0]] // a result's type
	}
	t.out.op(code, o...)
}

// adjacent returns the constant bool for a layout.
func (t *older) adjacent(layout id) id {
	if t.all[layout].operands[0] == columnMajorKHR {
		return t.columns
	}
	return t.rows
}

func (t *older) constants() {
	if !t.declared {
		t.out.op(opTypeBool, t.boolean)
	}
	t.out.op(opConstantFalse, t.boolean, t.rows)
	t.out.op(opConstantTrue, t.boolean, t.columns)
}

// TestTilesAreValidAsOlderMatrices has spirv-val validate what it knows of matrices.
func TestTilesAreValidAsOlderMatrices(t *testing.T) {
	for _, k := range []kir.Kind{kir.F16, kir.BF16} {
		validate(t, translate(words32(t, sample(t, "k", func(b *builder) { b.tiles(k) }))))
	}
}

// TestRandomTilesAreValidAsOlderMatrices does the same with random kernels.
func TestRandomTilesAreValidAsOlderMatrices(t *testing.T) {
	n, multiplied := uint64(60), 0
	if testing.Short() {
		n = 15
	}
	for seed := range n {
		o := options(seed)
		o.Caps |= kir.CapSubgroup | kir.CapTile
		c, err := kirtest.Random(rand.New(rand.NewPCG(seed, 4)), o)
		if err != nil {
			t.Fatal(err)
		}
		if c.Kernel.Needs&kir.CapTile != 0 {
			multiplied++
		}
		if validate(t, translate(words32(t, c.Kernel))); t.Failed() {
			t.Fatalf("seed %d: %v", seed, c.Kernel)
		}
	}
	if multiplied < int(n)/4 {
		t.Errorf("only %d kernels have tiles", multiplied)
	}
}
