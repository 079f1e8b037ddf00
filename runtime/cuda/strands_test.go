//go:build linux

package cuda_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/tests/cudasim"
	"github.com/ggmlc/ggmlc/tests/drivertest"
)

// groups returns a command of groups of dispatches that may run at the same time, as wide as given. All of a group
// double what one of the group before it wrote. Memory 0 has a vector of n for each dispatch of a group, the first
// group reads memory 1.
func groups(widths []int, n int) (list []drivertest.Dispatch) {
	vector := func(i int) drivertest.Arg { return drivertest.Arg{Offset: 4 * n * i} }
	before := 0
	for g, width := range widths {
		for i := range width {
			src := drivertest.Arg{Memory: 1}
			if g > 0 {
				src = vector(32*((g-1)%2) + (i+g)%before)
			}
			d := kernels.Scaling(vector(32*(g%2)+i), src, n, 2)
			d.Beside = i > 0
			list = append(list, d)
		}
		before = width
	}
	return list
}

// TestGraphsHaveTheEdgesOfBarriers captures groups of several widths, in two commands, and compares what each node of
// the graph follows with the barriers.
func TestGraphsHaveTheEdgesOfBarriers(t *testing.T) {
	const n = 8
	widths := []int{3, 1, 16, 2, 1, 1, 5}
	b := open(t, setting{device: []int64{4 * n * 64, 4 * n}})
	b.Device.Run(0, drivertest.Command(groups(widths, n)...), b.Blocks[0], 0)
	b.Device.Run(0, drivertest.Command(groups(widths[:2], n)...), b.Blocks[0], 0)
	b.Finish(0)
	if err := b.Fault(); err != nil {
		t.Fatal(err)
	}
	all := b.driver.Captured()
	if len(all) != 1 {
		t.Fatalf("%d graphs, want 1", len(all))
	}
	follows := closure(all[0])
	last, at := []int{0}, 1 // the copy of the arguments
	before := 1
	for _, width := range append(slices.Clone(widths), widths[:2]...) {
		var group []int
		for range width {
			if got := follows[at]; got != before {
				t.Errorf("node %d follows %d nodes, %v, want the %d before its group, which begins after %v", at, got, all[0][at], before, last)
			}
			group, at = append(group, at), at+1
		}
		last, before = group, before+width
	}
	if at != len(all[0]) {
		t.Errorf("%d nodes, want %d", len(all[0]), at)
	}
}

// closure returns how many nodes each node of a graph follows.
func closure(nodes [][]int) (counts []int) {
	all := make([]map[int]bool, len(nodes))
	for i, after := range nodes {
		all[i] = make(map[int]bool)
		for _, k := range after {
			all[i][k] = true
			for j := range all[k] {
				all[i][j] = true
			}
		}
		counts = append(counts, len(all[i]))
	}
	return counts
}

// TestGroupsSeeEarlierOnes runs random groups in random orders: each sees what the one before it wrote.
func TestGroupsSeeEarlierOnes(t *testing.T) {
	const n, steps = 4, 20
	random := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		var widths []int
		for range 1 + random.IntN(12) {
			widths = append(widths, 1+random.IntN(20))
		}
		b := open(t, setting{device: []int64{4 * n * 64, 4 * n}})
		b.Load(1, drivertest.Ramp(n))
		c := drivertest.Command(groups(widths, n)...)
		for range steps {
			if err := b.Device.Clear(b.Memory[0]); err != nil {
				t.Fatal(err)
			}
			b.Device.Run(0, c, b.Blocks[0], 0)
			got := b.Read(0, n*64)
			for i := range widths[len(widths)-1] {
				first := 32*((len(widths)-1)%2) + i
				for k, x := range got[n*first : n*first+n] {
					if want := float32(k+1) * float32(int(1)<<len(widths)); x != want {
						t.Fatalf("groups %v: vector %d is %v, want element %d to be %v", widths, i, got[n*first:n*first+n], k, want)
					}
				}
			}
		}
		b.Close()
	}
}

// TestSidesAreMadeOnce counts the streams of a device that captures groups of several widths again and again.
func TestSidesAreMadeOnce(t *testing.T) {
	b := open(t, setting{device: []int64{4 * 8 * 64, 4 * 8}})
	for _, widths := range [][]int{{2}, {1, 4}, {3}, {2, 4}} {
		b.Device.Run(0, drivertest.Command(groups(widths, 8)...), b.Blocks[0], 0)
		b.Finish(0)
	}
	if got := b.driver.Calls("cuStreamCreate"); got != 1+3 {
		t.Errorf("%d streams, want one and three sides", got)
	}
}

// TestFailuresOfCaptures has calls fail while two streams are captured. The next step captures again.
func TestFailuresOfCaptures(t *testing.T) {
	for _, name := range []string{"cuStreamWaitEvent", "cuEventRecord", "cuLaunchKernel", "cuStreamEndCapture"} {
		for nth := 1; nth <= 2; nth++ {
			calls, config := 0, cudasim.Config{}
			config.Fault = func(called string, _ int) uint32 {
				if called != name {
					return 0
				}
				if calls++; calls == nth {
					return 999
				}
				return 0
			}
			b := open(t, setting{config: config, device: []int64{4 * 8 * 64, 4 * 8}})
			b.Device.Run(0, drivertest.Command(groups([]int{2, 2}, 8)...), b.Blocks[0], 0)
			b.Finish(0)
			if err := b.Fault(); calls >= nth && err == nil {
				t.Errorf("call %d of %s fails: no error", nth, name)
			}
			b.Close()
		}
	}
}
