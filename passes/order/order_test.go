package order

import (
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestOrderRaisesPeakOfNoSpace orders nodes of a device that read wide values of the host. Running them early can make
// fewer bytes live in all spaces together, and yet more in the device's memory.
func TestOrderRaisesPeakOfNoSpace(t *testing.T) {
	targets, err := target.Parse("targets", "target gpu space=dev ops=*\ntarget cpu like=cpu")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name     string
		takes    []int // of the second wide value of the device: it may have the bytes of the first
		hosts    int   // wide values of the host
		accepted bool
		dev      int64 // rows live in the device's memory, before
	}{
		{"narrow beside two wide ones", nil, 1, false, 400},
		{"narrow beside one wide one", []int{0}, 1, false, 202},
		{"fewer wide ones of the host", []int{0}, 2, true, 203},
	} {
		g := dataflowOf(t, targets, tt.hosts, tt.takes)
		now := identity(len(g.work))
		before := g.peaks(now)
		list, after := g.schedule()
		if again := g.peaks(list); !slices.Equal(after, again) {
			t.Errorf("%s: the schedule has peaks %v, and reports %v", tt.name, again, after)
		}
		dev := slices.IndexFunc(g.spaces, func(s target.Space) bool { return s.Name == "dev" })
		if want := tt.dev * rowsOf(1).MaxBytes(); before[dev] != want {
			t.Errorf("%s: %d bytes are live in the device's memory, want %d", tt.name, before[dev], want)
		}
		if got := allLower(after, before); got != tt.accepted {
			t.Errorf("%s: peaks %v, then %v: accepted %v, want %v", tt.name, before, after, got, tt.accepted)
		}
	}
}

// dataflowOf makes wide values on the host, one on the device and another from that one, then reduces the values of the
// host on the device.
func dataflowOf(t *testing.T, targets *target.List, hosts int, takes []int) *dataflow {
	b := ir.NewBuilder("m")
	f := b.Func("f")
	x := f.Param("x", rowsOf(1))
	make := func(space string, rows int64, takes []int, args ...*ir.Value) *ir.Value {
		v := f.Foreign(ir.ForeignAttr{Op: "OP", Source: "test", Takes: takes}, args, rowsOf(rows))[0]
		v.Type.Space = space
		return v
	}
	var wide []*ir.Value
	for range hosts {
		wide = append(wide, make(target.Host, 100, nil, x))
	}
	all := []*ir.Value{make("dev", 200, takes, make("dev", 200, nil, x))}
	for _, w := range wide {
		all = append(all, make("dev", 1, nil, w))
	}
	f.Return("y", make("dev", 1, nil, all...))
	m, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return newDataflow(targets, m.Funcs[0])
}

// rowsOf is the type of n rows.
func rowsOf(n int64) ir.Type { return ir.Type{DType: dtype.F32, Shape: ir.Dims(n, 64)} }
