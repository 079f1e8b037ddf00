package target

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// node returns a node with operands of these types. Operands after the first one are weights if they have rank 2,
// except those of add.
func node(op ir.Op, types ...ir.Type) *ir.Node {
	m := &ir.Module{}
	f := m.AddFunc("f")
	args := make([]*ir.Value, len(types))
	for i, t := range types {
		if i > 0 && t.Rank() == 2 && op != ir.OpAdd {
			n := f.NewNode(ir.OpWeight, &ir.WeightAttr{Name: "w"}, nil, "w", t)
			args[i] = n.Result()
			continue
		}
		args[i] = f.AddParam("x", t)
	}
	return f.NewNode(op, nil, args, "y")
}

func typ(d dtype.DType, dims ...int64) ir.Type { return ir.Type{DType: d, Shape: ir.Dims(dims...)} }

func TestCPUSupportsWhatPackCanConvert(t *testing.T) {
	strided := typ(dtype.F32, 4, 32)
	strided.Strides = ir.Dims(1, 4)
	packed := typ(dtype.Q8_0, 16, 32)
	packed.Layout = dtype.R16
	for _, tt := range []struct {
		name string
		n    *ir.Node
		want string // part of the reason; empty where it is supported
	}{
		{"quantized weight", node(ir.OpMatMul, typ(dtype.F32, 4, 32), typ(dtype.Q8_0, 16, 32)), ""},
		{"float weight", node(ir.OpMatMul, typ(dtype.F32, 4, 32), typ(dtype.BF16, 16, 32)), ""},
		{"packed weight", node(ir.OpMatMul, typ(dtype.F32, 4, 32), packed), ""},
		{"residual", node(ir.OpMatMul, typ(dtype.F32, 4, 32), packed, typ(dtype.F32, 4, 16)), ""},
		{"strided operand", node(ir.OpMatMul, strided, packed), ""},
		{"integer weight", node(ir.OpMatMul, typ(dtype.F32, 4, 32), typ(dtype.I8, 16, 32)), "is i8"},
		{"weight of superblocks", node(ir.OpMatMul, typ(dtype.F32, 4, 256), typ(dtype.Q4_K, 16, 256)), ""},
		{"q8a with superblocks", node(ir.OpMatMul, typ(dtype.Q8A, 4, 256), typ(dtype.Q4_K, 16, 256)), "is q8a"},
		{"q8a_k with blocks of 32", node(ir.OpMatMul, typ(dtype.Q8A_K, 4, 256), typ(dtype.Q8_0, 16, 256)), "is q8a_k"},
		{"q8a with a float weight", node(ir.OpMatMul, typ(dtype.Q8A, 4, 32), typ(dtype.F32, 16, 32)), "is q8a"},
		{"row", node(ir.OpAdd, typ(dtype.F32, 4, 32), typ(dtype.F32, 32)), ""},
		{"column", node(ir.OpAdd, typ(dtype.F32, 4, 32), typ(dtype.F32, 4, 1)), "another axis"},
		{"maximum with a row", node(ir.OpMax, typ(dtype.F32, 4, 32), typ(dtype.F32, 32)), "one shape"},
		{"too many operands", node(ir.OpSiLU, typ(dtype.F32, 4), typ(dtype.F32, 4)), "takes no operand 1"},
		{"no kernel", node(ir.OpForeign, typ(dtype.F32, 4)), "no kernel for foreign"},
		{"view", node(ir.OpReshape, typ(dtype.I8, 4)), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ok, why := CPU().Supports(tt.n)
			if ok != (tt.want == "") || !strings.Contains(why, tt.want) {
				t.Errorf("Supports = %v, %q; want a reason with %q", ok, why, tt.want)
			}
		})
	}
}

func TestCPUReadsOnlyConvertedOperands(t *testing.T) {
	packed := typ(dtype.Q8_0, 16, 32)
	packed.Layout = dtype.R16
	if n := node(ir.OpMatMul, typ(dtype.F32, 4, 32), packed); CPU().Reads(n) {
		t.Error("a product of f32 and q8_0 is read as it is; it needs quantized activations")
	}
	if n := node(ir.OpMatMul, typ(dtype.Q8A, 4, 32), packed); !CPU().Reads(n) {
		t.Error("a product of q8a and packed q8_0 is not read")
	}
	packed = typ(dtype.Q6_K, 16, 256)
	packed.Layout = dtype.R16
	if n := node(ir.OpMatMul, typ(dtype.Q8A_K, 4, 256), packed); !CPU().Reads(n) {
		t.Error("a product of q8a_k and packed q6_k is not read")
	}
	if n := node(ir.OpMatMul, typ(dtype.Q8A, 4, 256), packed); CPU().Reads(n) {
		t.Error("a product of q8a and packed q6_k is read")
	}
}

func TestCPUFormatsFollowTheWeight(t *testing.T) {
	cpu := CPU()
	for _, tt := range []struct {
		weight dtype.DType
		act    dtype.DType
		layout dtype.Layout
	}{
		{dtype.F32, dtype.F32, dtype.R16},
		{dtype.BF16, dtype.BF16, dtype.R16},
		{dtype.Q4_0, dtype.Q8A, dtype.R16},
		{dtype.MXFP4, dtype.Q8A, dtype.R16},
		{dtype.Q4_K, dtype.Q8A_K, dtype.R16},
		{dtype.IQ3SX, dtype.Q8A_K, dtype.R16},
	} {
		if got := cpu.ActFormat(ir.OpMatMul, tt.weight); got != tt.act {
			t.Errorf("ActFormat(%v) = %v, want %v", tt.weight, got, tt.act)
		}
		if got := cpu.WeightLayout(ir.OpMatMul, 1, tt.weight); got != tt.layout {
			t.Errorf("WeightLayout(%v) = %v, want %v", tt.weight, got, tt.layout)
		}
	}
	if got := cpu.WeightLayout(ir.OpGather, 0, dtype.Q4_0); got != dtype.Plain {
		t.Errorf("WeightLayout of a gathered table = %v, want plain", got)
	}
}

// TestBlocksOfTheCPUAreThoseOfItsActivations: a format with superblocks goes with activations in superblocks.
func TestBlocksOfTheCPUAreThoseOfItsActivations(t *testing.T) {
	for _, op := range []ir.Op{ir.OpMatMul, ir.OpMatMulSwiGLU, ir.OpExpertsMatMul} {
		for d := range dtype.NumDTypes {
			s := d.Scheme()
			if s == nil {
				continue
			}
			want := dtype.Q8A
			if s.Super {
				want = dtype.Q8A_K
			}
			if got := CPU().ActFormat(op, d); got != want {
				t.Errorf("ActFormat(%v, %v) = %v, want %v", op, d, got, want)
			}
		}
	}
}

func TestGPUsQuantizeToShortBlocks(t *testing.T) {
	gpu := Vulkan()
	for to, want := range map[dtype.DType]string{
		dtype.Q8A:   "",
		dtype.Q8A_K: "makes q8a_k, for which there is no kernel",
	} {
		x, w := &ir.Value{Type: typ(dtype.F32, 4, 256)}, &ir.Value{Type: typ(dtype.F32, 256)}
		for _, n := range []*ir.Node{
			{Op: ir.OpQuantize, Attr: &ir.QuantizeAttr{To: to}, Args: []*ir.Value{x}},
			{Op: ir.OpRMSNormQuantize, Attr: &ir.NormQuantizeAttr{To: to}, Args: []*ir.Value{x, w}},
		} {
			if ok, why := gpu.Supports(n); ok != (want == "") || !strings.Contains(why, want) {
				t.Errorf("%v to %v: %v, %q", n.Op, to, ok, why)
			}
		}
	}
	if got := gpu.ActFormat(ir.OpMatMul, dtype.Q4_K); got != dtype.F32 {
		t.Errorf("activations of q4_k are %v", got)
	}
}

// TestFormatsOfActivationsAreMade has a backend that reads both formats of quantized activations, and one that cannot
// make the one that it reads.
func TestFormatsOfActivationsAreMade(t *testing.T) {
	x := &ir.Value{Type: typ(dtype.F32, 4, 256)}
	for _, tt := range []struct {
		format Format
		want   dtype.DType
	}{
		{Plain(dtype.Q8A), dtype.Q8A},
		{Plain(dtype.Q8A_K), dtype.Q8A_K},
		{Plain(dtype.Q8A_K, dtype.Q8A), dtype.Q8A_K},
		{Plain(dtype.F32, dtype.Q8A_K), dtype.F32},
		{Plain(dtype.BF16), dtype.BF16},
	} {
		if got, _ := tt.format.Want(x); got != tt.want {
			t.Errorf("%v wants %v, not %v", tt.format, got, tt.want)
		}
	}
	d, err := ParseDescriptor("gpu like=vulkan space=dev ops=quantize,matmul(q8a_k,q4_k)")
	if err != nil {
		t.Fatal(err)
	}
	n := node(ir.OpMatMul, typ(dtype.F32, 4, 256), typ(dtype.Q4_K, 16, 256))
	if ok, why := d.Supports(n); ok || !strings.Contains(why, "is f32, which it does not read") {
		t.Errorf("a backend without a kernel that makes q8a_k: %v, %q", ok, why)
	}
}

func TestStridesAreDenseOrOfRowsOrNeither(t *testing.T) {
	for _, tt := range []struct {
		shape, strides []int64
		dense, rows    bool
	}{
		{[]int64{4, 8}, []int64{8, 1}, true, true},
		{[]int64{4, 8}, []int64{16, 1}, false, true},
		{[]int64{1, 8}, []int64{16, 1}, true, true},
		{[]int64{4, 1}, []int64{1, 7}, true, true},
		{[]int64{4, 8}, []int64{1, 4}, false, false},
		{[]int64{2, 4, 8}, []int64{64, 16, 1}, false, true},
		{[]int64{2, 4, 8}, []int64{100, 16, 1}, false, false},
	} {
		ty := typ(dtype.F32, tt.shape...)
		ty.Strides = ir.Dims(tt.strides...)
		if got := IsDense(ty); got != tt.dense {
			t.Errorf("IsDense(%v strides %v) = %v", tt.shape, tt.strides, got)
		}
		if got := RowStrides.Hold(ty); got != tt.rows {
			t.Errorf("RowStrides.Hold(%v strides %v) = %v", tt.shape, tt.strides, got)
		}
	}
}

func TestParseReportsEveryWrongLine(t *testing.T) {
	_, err := Parse("t.txt", `
# devices
target gpu0 space=dev0 opps=*
target gpu1 ops=*
target gpu2 space=d ops=matmull
target gpu3 space=d ops=matmul(q8a,q4_0.r17)
target gpu4 space=d threads=-1
target gpu5 space=d align=1XB
target gpu6 space=d space=e
device gpu7
target gpu8 like=npu
target gpu9 space=a,,b flops=NaN
target space=x
target gpu10 space=a ops=*,-foreign.ADD
target gpu11 space=a offload=matmul@x
target gpu12 space=a offload=matmull
target gpu13 space=a opaque=,
target gpu14 space=a queues=3
target gpu15 space=a align=3
target gpu16 space=a link=Inf
target gpu17 like=cpu queues=2
target gpu18 space=a,a
target gpu19 space=a opaque=b
target gpu20 space=a alignin=b:64
target gpu21 space=a alignin=a:48
target gpu,22 space=a
target gpu23 space=a"b
target gpu24 space=a memory=0.1
target gpu25 space=a events=maybe
target gpu26 space=a hint=-1
target gpu27 space=a launch=soon
target gpu28 space=a extra=2147483648
target gpu29 space=a ops=*,-slice
target gpu30 space=a ops=add,
target gpu31 space=a ops=-add
target gpu32 like=cuda mma=fast
target gpu33 like=vulkan mma=wgmma
`)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`t.txt:3:24: unknown field "opps"`,
		`t.txt:4:8: target gpu1 has no memory`,
		`t.txt:5:21: ops: unknown op "matmull"`,
		`t.txt:6:21: ops: matmul(q8a,q4_0.r17): unknown layout`,
		`t.txt:7:21: threads:`,
		`t.txt:8:21: align: "1XB" is not a size`,
		`t.txt:9:21: space is given twice`,
		`t.txt:10:1: a line begins with the word target`,
		`t.txt:11:13: like=npu: no such built-in target`,
		`t.txt:12:13: space: "a,,b" holds an empty name`,
		`t.txt:13:8: the name of the target is missing`,
		`t.txt:14:22: ops: -foreign.ADD: foreign ops are listed by name`,
		`t.txt:15:22: offload: matmul@x: "x" is not an axis`,
		`t.txt:16:22: offload: unknown op "matmull"`,
		`t.txt:17:22: opaque: "," holds an empty name`,
		`t.txt:18:22: queues: 3 queues: a target has 0, 1 or 2`,
		`t.txt:3:24: unknown field "opps": did you mean ops?`,
		`t.txt:5:21: ops: unknown op "matmull": did you mean matmul?`,
		`t.txt:19:22: align: 3 is not an alignment: write a power of two from 1 to 1GiB, such as 64`,
		`t.txt:20:22: link: Inf is not a rate`,
		`t.txt:21:23: queues: nodes of gpu17 are shared by the program's threads`,
		`t.txt:22:14: space: a is listed twice`,
		`t.txt:23:22: opaque: gpu19 does not address b: it has a`,
		`t.txt:24:22: alignin: gpu20 does not address b: it has a`,
		`t.txt:25:22: alignin: a:48: 48 is not an alignment`,
		`t.txt:26:8: "gpu,22" is not a name for a target`,
		`t.txt:27:14: space: "a\"b" is not a name for a memory space`,
		`t.txt:28:22: memory: "0.1" is not a size`,
		`t.txt:29:22: events: "maybe": write true or false`,
		`t.txt:30:22: hint: "-1" is not a whole number`,
		`t.txt:31:22: launch: soon is not a rate`,
		`t.txt:32:22: extra: 2147483648: at most 16MiB`,
		`t.txt:33:22: ops: slice takes no kernel, so every target has it: leave it out of the list`,
		`t.txt:34:22: ops: the name of an op is missing: write NAME, NAME(FORMAT,...), -NAME or *`,
		`t.txt:35:22: ops: -add: without like= there is no list to leave ops out of: write ops=*,-NAME`,
		`t.txt:36:24: mma: "fast": write sync or wgmma`,
		`t.txt:37:26: mma: gpu33 is no GPU of NVIDIA: leave it out, or write kind=cuda`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no error %q in:\n%v", want, err)
		}
	}
}

func TestDescriptorsPrintAsTheyAreRead(t *testing.T) {
	for _, text := range []string{
		"cpu like=cpu",
		"cpu like=cpu threads=3 hint=2",
		"fake:0 like=fake space=fake:0 ops=-rms_norm,-rope",
		"fake:1 like=fake space=fake:1 queues=2 events=false memory=2GiB extra=96",
		"cuda:1 like=cuda space=cuda:1 mma=wgmma",
		"gpu mma=sync kind=cuda space=dev ops=*",
		"gpu space=dev ops=* linkout=5e+09 linkdelay=1e-05 memory=8GiB",
		"gpu0 kind=fake space=dev0,host ops=* maxinputs=4 link=1e+09",
		"gpu0 space=dev0 ops=*,-foreign,-rope",
		"npu space=host ops=*,matmul(q8a|f32,q4_0|q8_0.r16+plain,*)",
		"npu space=host ops=add,mul(f32/rows,*/any) merge=true maxalloc=1GiB",
		"gpu space=dev,host opaque=dev ops=foreign.MUL_MAT,foreign.ADD(f32,f32),matmul offload=matmul,foreign.MUL_MAT_ID@2 offloadrows=32",
	} {
		d, err := ParseDescriptor(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		again, err := ParseDescriptor(d.String())
		if err != nil {
			t.Errorf("%s: printed as %s: %v", text, d, err)
			continue
		}
		if again.String() != d.String() {
			t.Errorf("%s: printed as %s, then as %s", text, d, again)
		}
		if strings.HasPrefix(text, "cpu like=cpu") && strings.Contains(d.String(), "ops=") {
			t.Errorf("%s: printed as %s, with what it has from cpu", text, d)
		}
	}
}

func TestOpsFieldDecidesWhatIsSupported(t *testing.T) {
	d, err := ParseDescriptor("npu space=host ops=*,-rope,matmul(f32,*)")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		n    *ir.Node
		want bool
	}{
		{node(ir.OpAdd, typ(dtype.F32, 4), typ(dtype.F32, 4)), true},
		{node(ir.OpRope, typ(dtype.F32, 4), typ(dtype.F32, 4)), false},
		{node(ir.OpMatMul, typ(dtype.F32, 4, 32), typ(dtype.I8, 4, 32)), true},
		{node(ir.OpMatMul, typ(dtype.F32, 4, 32), typ(dtype.F32, 4, 32), typ(dtype.F32, 4, 4)), false},
	} {
		if got, why := d.Supports(tt.n); got != tt.want {
			t.Errorf("%v of %d operands: %v (%s)", tt.n.Op, len(tt.n.Args), got, why)
		}
	}
}

// TestRemovedOpsLeaveTheOtherKernels expects that the rows of the other ops keep their formats and checks.
func TestRemovedOpsLeaveTheOtherKernels(t *testing.T) {
	d, err := ParseDescriptor("npu like=fake ops=-rope,-add")
	if err != nil {
		t.Fatal(err)
	}
	if want := "npu like=fake ops=-add,-rope"; d.String() != want {
		t.Errorf("printed as %s, want %s", d, want)
	}
	if d.Has(ir.OpRope) || d.Has(ir.OpAdd) || len(d.Rows) != len(Fake().Rows)-2 {
		t.Errorf("%d rows of %d", len(d.Rows), len(Fake().Rows))
	}
	checks := 0
	for _, r := range d.Rows {
		if r.Check != nil {
			checks++
		}
	}
	if checks == 0 {
		t.Error("the checks of the rows are gone")
	}
}

// TestListedOpsHaveTheKernelsOfLike expects that listed ops have the formats and checks of the target of like=.
func TestListedOpsHaveTheKernelsOfLike(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"npu like=fake space=host ops=add,matmul", "npu like=fake space=host ops=add,matmul"},
		{"npu like=fake space=host ops=matmul,foreign.X,rope(f32,f32)", "npu like=fake space=host ops=matmul,foreign.X,rope"},
		{"npu like=fake space=host ops=*,add,-rope", "npu like=fake space=host ops=-rope"},
		{"npu like=fake space=host ops=*,-attention", "npu like=fake space=host ops=-attention"},
		{"npu like=fake space=host ops=*", "npu like=fake space=host"},
	} {
		d, err := ParseDescriptor(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if d.String() != tt.want {
			t.Errorf("%s is printed as %s, want %s", tt.text, d, tt.want)
		}
	}
	d, err := ParseDescriptor("npu like=fake space=host ops=add,matmul")
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseDescriptor(d.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []*Descriptor{d, again} {
		if want := 1 + len(d.likeRows(ir.OpMatMul)); len(d.Rows) != want || d.Rows[0].Check == nil || d.Rows[1].Args == nil || d.Has(ir.OpRope) {
			t.Errorf("%v has the rows %v; want one of add, with its check, and those of matmul", d, d.Rows)
		}
	}
}

func TestDeniedLastTargetStaysInTheList(t *testing.T) {
	l, err := Parse("t", "target a space=d,host align=256 maxalloc=64\ntarget b space=d maxalloc=32\ntarget cpu like=cpu")
	if err != nil {
		t.Fatal(err)
	}
	if s := l.Space("d"); s.Align != 256 || s.MaxAlloc != 32 || len(s.Targets) != 2 {
		t.Errorf("space d = %+v", s)
	}
	if rest, err := l.Without([]string{"cpu", "a"}); err != nil || rest.Names() != "b, cpu" {
		t.Errorf("Without(cpu, a) = %v, %v; the last target drives the step", rest, err)
	}
	if _, err := l.Without([]string{"x"}); err == nil {
		t.Error("an unknown target was denied")
	}
	rest, err := l.Without([]string{"a"})
	if err != nil || rest.Names() != "b, cpu" {
		t.Errorf("Without(a) = %v, %v", rest, err)
	}
	if _, err := Select("cpu,cpu"); err == nil {
		t.Error("a target was listed twice")
	}
	if _, err := Select("tpu"); err == nil {
		t.Error("an unknown target was selected")
	}
}

func TestSecondsAreTheLargerOfArithmeticAndMemory(t *testing.T) {
	d := CPU()
	alone, shared := d.Seconds(1e9, 1e3, dtype.F32, 1), d.Seconds(1e9, 1e3, dtype.F32, 2)
	if shared >= alone {
		t.Errorf("two workers need %v s, one %v s", shared, alone)
	}
	if q := d.Seconds(1e9, 1e3, dtype.Q4_0, 1); q >= alone {
		t.Errorf("quantized weights need %v s, float ones %v s", q, alone)
	}
	// If one rate of a pair is not known, the other one counts.
	dev := &Descriptor{Rates: Rates{FLOPs: 1e12, Bandwidth: 1e11}}
	if got := dev.Seconds(1e12, 0, dtype.Q4_0, 1); got != 1 {
		t.Errorf("1e12 operations on quantized weights take %v s without qops, want 1", got)
	}
	if got := dev.Seconds(0, 1e11, dtype.F32, 1); got != 1 {
		t.Errorf("1e11 bytes take %v s without workerbw, want 1", got)
	}
	// More workers do not help if memory is the limit.
	if a, b := d.Seconds(0, 1e9, dtype.F32, 8), d.Seconds(0, 1e9, dtype.F32, 64); a != b {
		t.Errorf("64 workers read in %v s what 8 read in %v s", b, a)
	}
}

// FuzzParse expects that Parse does not panic, and that what it accepts prints as a text with the same meaning.
func FuzzParse(f *testing.F) {
	f.Add("target cpu like=cpu threads=4\n# comment\ntarget gpu space=dev,host ops=*,-rope,matmul(q8a,q8_0|q4_0.r16/rows,*) maxalloc=1.5GiB flops=1e12")
	f.Add("target x space=a ops=matmul(")
	f.Add("target x space=a ops=-,(),*()")
	f.Add("target x space=a ops=foreign.A(f32),foreign.B offload=foreign.A@2,matmul opaque=a offloadrows=3")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse("fuzz", text)
		if err != nil {
			return
		}
		for _, d := range l.All() {
			again, err := ParseDescriptor(d.String())
			if err != nil {
				t.Fatalf("%q is printed as %q: %v", text, d, err)
			}
			if again.String() != d.String() {
				t.Fatalf("%q is printed as %q, then as %q", text, d, again)
			}
		}
	})
}

// TestExampleOfThePackage checks the times in the package's comment.
func TestExampleOfThePackage(t *testing.T) {
	l, err := Parse("t", `target gpu space=vram ops=*,-rope memory=8GiB queues=2 flops=20e12 bandwidth=500e9 launch=5e-6 link=20e9
target cpu like=cpu`)
	if err != nil {
		t.Fatal(err)
	}
	gpu := l.Get("gpu")
	for _, tt := range []struct {
		what      string
		got, want float64
	}{
		{"product", gpu.Seconds(2e9, 100e6, dtype.F32, 1), 205e-6},
		{"copy", gpu.TransferSeconds(l.Last(), 1e6), 101e-6},
	} {
		if d := tt.got - tt.want; d > 1e-12 || d < -1e-12 {
			t.Errorf("the %s takes %v s, want %v", tt.what, tt.got, tt.want)
		}
	}
	if gpu.Has(ir.OpRope) || gpu.Home() != "vram" {
		t.Errorf("the card is %v", gpu)
	}
}
