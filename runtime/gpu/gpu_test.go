package gpu

import (
	"slices"
	"strings"
	"testing"
)

// TestRunCollectsDispatches runs two commands one after the other: the second one finds nothing of the first.
func TestRunCollectsDispatches(t *testing.T) {
	a, b := &Kernel{Name: "a", Args: 2}, &Kernel{Name: "b", Args: 1}
	e := &Env{Mem: []uint64{1000, 2000}}
	e.Run(func(e *Env, l int) { e.Dispatch(b, 1, 7); e.Barrier() }, 0)
	e.Run(func(e *Env, l int) {
		e.Dispatch(a, 3, e.Mem[0]+uint64(8*l), e.Mem[1])
		e.Barrier()
		e.Dispatch(b, 4, 5)
		e.Dispatch(b, 4, 6)
	}, 2)
	if !slices.Equal(e.Dispatches, []Dispatch{{a, 3, 0, false}, {b, 4, 2, true}, {b, 4, 3, false}}) || !slices.Equal(e.Words, []uint64{1016, 2000, 5, 6}) {
		t.Errorf("%+v, words %d", e.Dispatches, e.Words)
	}
}

func TestCheckComparesWithLimits(t *testing.T) {
	limits := Limits{Threads: 64, Groups: 10}
	for _, c := range []struct {
		kernel Kernel
		groups int
		want   string // empty if all is well
	}{
		{Kernel{Threads: 64, Args: 1}, 10, ""},
		{Kernel{Threads: 65, Args: 1}, 10, "65 threads in a workgroup, the device allows 64"},
		{Kernel{Threads: 64, Args: 2}, 10, "1 arguments, it has 2"},
		{Kernel{Threads: 64, Args: 1}, 11, "11 workgroups, the device allows 1 to 10"},
		{Kernel{Threads: 64, Args: 1}, 0, "0 workgroups"},
	} {
		e := new(Env)
		c.kernel.Name = "k"
		e.Dispatch(&c.kernel, c.groups, 1)
		e.Dispatch(&Kernel{Threads: 1}, 1)
		err := e.Check(limits)
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), "kernel k: "+c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// TestPart has parts of a file of kernels, and one that a cut file does not have.
func TestPart(t *testing.T) {
	for _, c := range []struct {
		from, to int
		want     string
	}{{0, 2, "ab"}, {2, 4, "cd"}, {4, 6, ""}, {3, 5, ""}} {
		if got := Part("abcd", c.from, c.to); got != c.want {
			t.Errorf("%d to %d: %q, want %q", c.from, c.to, got, c.want)
		}
	}
}
