package gpu

import (
	"math"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/runtime"
)

func TestWord(t *testing.T) {
	for _, c := range []struct {
		arg             Arg
		iteration, slot int
		want            int
	}{
		{Arg{Offset: 8}, 3, 2, 8},
		{Arg{Offset: 8, Slot: 100}, 3, 2, 208},
		{Arg{Offset: 8, Table: []int{1, 2, 3, 4}}, 3, 2, 4},
		{Arg{Table: []int{1, 2, 3, 4}, Slot: 10}, 1, 1, 12},
	} {
		if got := c.arg.Word(c.iteration, c.slot); got != c.want {
			t.Errorf("%+v in iteration %d and slot %d: %d, want %d", c.arg, c.iteration, c.slot, got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	limits := Limits{Threads: 64, Shared: 100, Args: 2, Groups: 10}
	good := Dispatch{Kernel: &Kernel{Name: "k", Threads: 64, Args: 1, Shared: 100}, Groups: 10, Args: []Arg{{}}, Node: "%x"}
	if err := good.Check(limits, 0); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		edit func(*Dispatch)
		want string
	}{
		{func(d *Dispatch) { d.Kernel.Threads++ }, "65 threads in a workgroup, the device allows 64"},
		{func(d *Dispatch) { d.Kernel.Shared++ }, "101 bytes of shared memory, the device has 100"},
		{func(d *Dispatch) { d.Kernel.Args, d.Args = 3, make([]Arg, 3) }, "3 words of arguments, the device allows 2"},
		{func(d *Dispatch) { d.Args = nil }, "0 arguments, the kernel has 1"},
		{func(d *Dispatch) { d.Groups = 11 }, "11 workgroups, the device allows 1 to 10"},
		{func(d *Dispatch) { d.Groups = 0 }, "0 workgroups"},
		{func(d *Dispatch) { d.Args = []Arg{{Table: []int{1, 2}}} }, "argument 0 has no offset for iteration 2 of 2"},
	} {
		k := *good.Kernel
		d := good
		d.Kernel = &k
		c.edit(&d)
		if err := d.Check(limits, 2); err == nil || !strings.HasPrefix(err.Error(), "%x: kernel k: "+c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

func TestPutSizes(t *testing.T) {
	b := &runtime.Block{}
	b.Dims[0], b.Dims[runtime.MaxSymbols-1] = 7, math.MaxInt32
	var to [runtime.MaxSymbols]int32
	PutSizes(&to, b)
	if to[0] != 7 || to[1] != 0 || to[runtime.MaxSymbols-1] != math.MaxInt32 {
		t.Errorf("%v", to)
	}
}
