package target

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// foreign returns a node of a foreign op with operands of these types and a result of this shape.
func foreign(op string, shape []int64, types ...ir.Type) *ir.Node {
	n := node(ir.OpForeign, types...)
	n.Attr = &ir.ForeignAttr{Op: op}
	r := n.Func.NewValue("y", typ(dtype.F32, shape...))
	r.Def = n
	n.Results = []*ir.Value{r}
	return n
}

func parse(t *testing.T, text string) *List {
	t.Helper()
	l, err := Parse("t", text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestOffersDependOnOpAndRows(t *testing.T) {
	gpu := parse(t, "target gpu space=dev ops=* offload=foreign.MUL_MAT,foreign.MUL_MAT_ID@2 offloadrows=8").Last()
	for _, tt := range []struct {
		op    string
		shape []int64
		want  bool
	}{
		{"MUL_MAT", []int64{8, 64}, true},
		{"MUL_MAT", []int64{7, 64}, false},
		{"MUL_MAT", []int64{64}, false},
		{"MUL_MAT_ID", []int64{8, 2, 64}, true},
		{"MUL_MAT_ID", []int64{2, 8, 64}, false},
		{"ADD", []int64{8, 64}, false},
	} {
		if got := gpu.Offers(foreign(tt.op, tt.shape)); got != tt.want {
			t.Errorf("Offers(%s of %v) = %v", tt.op, tt.shape, got)
		}
	}
}

func TestForeignOpsAreSupportedByNameAndFormat(t *testing.T) {
	npu := parse(t, "target npu space=host ops=foreign.ADD(f32,f32),foreign.MUL").Last()
	f32, f16 := typ(dtype.F32, 4), typ(dtype.F16, 4)
	for _, tt := range []struct {
		n    *ir.Node
		want bool
	}{
		{foreign("ADD", []int64{4}, f32, f32), true},
		{foreign("ADD", []int64{4}, f32, f16), false},
		{foreign("ADD", []int64{4}, f32, f32, f32), false},
		{foreign("MUL", []int64{4}, f16, f16), true},
		{foreign("SUB", []int64{4}, f32, f32), false},
	} {
		if got, why := npu.Supports(tt.n); got != tt.want {
			t.Errorf("%v: %v (%s)", tt.n.Attr, got, why)
		}
	}
	inPlace := foreign("ADD", []int64{4}, f32, f32, f16)
	inPlace.Attr.(*ir.ForeignAttr).InPlace = true
	if ok, why := npu.Supports(inPlace); !ok {
		t.Errorf("the operand that is no source counts: %s", why)
	}
}

// three is a text of three targets, of which the last has a space that is opaque.
const three = `target gpu space=dev ops=foreign.ADD
target npu space=host ops=foreign.MUL
target cpu space=host,packed opaque=packed ops=*`

func TestBestIsTheFirstTargetThatRunsTheNode(t *testing.T) {
	l := parse(t, three)
	for _, tt := range []struct {
		space, op, want string
	}{
		{"host", "", "npu"},
		{"host", "ADD", "cpu"},
		{"dev", "ADD", "gpu"},
		{"dev", "MUL", ""},
	} {
		var n *ir.Node
		if tt.op != "" {
			n = foreign(tt.op, []int64{4})
		}
		got := ""
		if d := l.Best(tt.space, n); d != nil {
			got = d.Name
		}
		if got != tt.want {
			t.Errorf("Best(%s, %s) = %q, want %q", tt.space, tt.op, got, tt.want)
		}
	}
}

func TestHostReadsItsSpacesThatAreNotOpaque(t *testing.T) {
	l := parse(t, three)
	for space, want := range map[string]bool{"host": true, "packed": false, "dev": false} {
		if l.HostReads(space) != want {
			t.Errorf("HostReads(%s) = %v", space, !want)
		}
	}
}
