package gpusim_test

import (
	"errors"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/kernels/gpu/interp"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/gpu"
	"github.com/ggmlc/ggmlc/runtime/gpusim"
)

// TestCommandsRun runs two kernels of one command and reads their result.
func TestCommandsRun(t *testing.T) {
	b := open(t, gpusim.Options{}, runtime.Weights, runtime.Activations)
	b.load(0)
	c := command(0, 1, elems/4, double)
	twice := command(1, 1, elems/4, double, double)
	b.device.Run(0, c, b.block, 0)
	b.device.Run(0, twice, b.block, 0)
	b.device.Copy(0, whole(2, 1, elems), b.block)
	if err := b.finish(0); err != nil {
		t.Fatal(err)
	}
	for i, got := range b.host {
		if int(got) != 8*i {
			t.Errorf("element %d is %d", i, got)
		}
	}
}

// TestQueuesWait has a queue wait for the other one.
func TestQueuesWait(t *testing.T) {
	b := open(t, gpusim.Options{}, runtime.Weights, runtime.Activations)
	b.load(0)
	var e, gate runtime.Event
	b.device.Wait(0, &gate, 1)
	b.device.Run(0, command(0, 1, elems/4, double), b.block, 0)
	b.device.Record(0, &e, 1)
	b.device.Wait(1, &e, 1)
	b.device.Copy(1, whole(2, 1, elems), b.block)
	gate.Signal(1)
	if err := b.finish(1); err != nil || b.host[elems-1] != 2*(elems-1) {
		t.Errorf("the last element is %d, error %v", b.host[elems-1], err)
	}
}

// faulty are kernels with a mistake, and a part of the error.
var faulty = []struct {
	name, body, want string
	always           bool // also without the checks that take time
}{
	{"race", "store %x, %t", "race: bytes 0 to 3 of allocation 0 are also written by group 0 thread", false},
	{"race in shared memory", "%z = const i32 0\nshared_store s %z, %t", "race: element 0 of s is also written by group 0 thread", false},
	{"undefined", "%v = load i32 %q\nstore %p, %v", "uninitialised: byte", false},
	{"bounds", "%far = const i32 1000\n%f = offset %far {4}\n%r = add %p, %f\nstore %r, %t", "bounds: 4 bytes at", true},
	{"division", "%z = const i32 0\n%u = rem %t, %z", "division: ", true},
}

// TestFaultsNameTheirPlace demands that an error of a kernel names kernel, node, step, split and thread, that it is
// ours, and that nothing runs after it.
func TestFaultsNameTheirPlace(t *testing.T) {
	for _, tt := range faulty {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			k := kernel("broken i32[n]", tt.body)
			for _, checks := range []interp.Checks{interp.CheckAll, interp.CheckBounds} {
				b := open(t, gpusim.Options{Checks: checks}, runtime.State, runtime.Activations)
				b.load(0)
				b.device.Run(0, command(0, 1, 1, k), b.block, 5)
				b.host[1] = 9
				b.device.Copy(0, whole(2, 0, 2), b.block)
				err := b.finish(0)
				if checks == interp.CheckBounds && !tt.always {
					if err != nil || b.host[1] == 9 {
						t.Errorf("with fewer checks: %v", err)
					}
					continue
				}
				if b.host[1] != 9 {
					t.Error("a copy after the fault is made")
				}
				wantFault(t, err, "@decode split 3[l=5] failed on gpusim: step 7: %v1 blk.*.ffn: kernel \"broken i32[n]\": k: group 0 thread ", tt.want)
			}
		})
	}
}

// wantFault demands a fault that is a bug, whose text has the parts.
func wantFault(t *testing.T, err error, parts ...string) {
	t.Helper()
	f, ok := errors.AsType[*runtime.FaultError](err)
	if !ok || f.Surroundings() || !strings.Contains(err.Error(), "this is a bug of ggmlc") {
		t.Fatalf("error %v", err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %v, without %q", err, p)
		}
	}
}

// TestKernelsWithoutBarrierRace has two kernels, of which one reads what the other writes, without a barrier between
// them.
func TestKernelsWithoutBarrierRace(t *testing.T) {
	again := *double
	again.Name = "another"
	for seed := range uint64(4) {
		b := open(t, gpusim.Options{Seed: seed}, runtime.State, runtime.State)
		b.load(0)
		c := &runtime.Command{Label: runtime.Label{Func: "decode"}, Nodes: []string{"%a", "%b"}}
		c.Kernel = gpu.Command(func(e *gpu.Env, _ int) {
			e.Dispatch(double, 1, e.Mem[0], e.Mem[1], elems)
			e.Dispatch(&again, 1, e.Mem[0], e.Mem[1], elems)
		})
		b.device.Run(0, c, b.block, 0)
		wantFault(t, b.finish(0), "of k, which may run at the same time", "race: bytes")
	}
}

// TestActivationsAreForgotten reads a result of an earlier step.
func TestActivationsAreForgotten(t *testing.T) {
	b := open(t, gpusim.Options{}, runtime.State, runtime.Activations)
	b.load(0)
	b.load(1)
	b.device.(runtime.Idler).Idle(b.block)
	b.device.Copy(0, whole(2, 0, elems), b.block)
	if err := b.finish(0); err != nil {
		t.Fatalf("the state: %v", err)
	}
	b.device.Run(0, command(1, 0, 1, double), b.block, 0)
	wantFault(t, b.finish(0), "uninitialised")
}

// TestCopiesOfUndefinedBytes copies what no kernel has written.
func TestCopiesOfUndefinedBytes(t *testing.T) {
	b := open(t, gpusim.Options{}, runtime.Activations)
	b.device.Copy(0, whole(1, 0, 4), b.block)
	wantFault(t, b.finish(0), "@decode split 2: %c = copy %a failed on gpusim: step 7: ", "byte 0 of allocation 0 was never written")
}

// TestBoxesAreCopied copies every second element of every third row, then two of the elements by number.
func TestBoxesAreCopied(t *testing.T) {
	b := open(t, gpusim.Options{}, runtime.State, runtime.State)
	b.load(0)
	for i := range b.host { // before the device writes there
		b.host[i] = -1
	}
	box := whole(1, 0, 4)
	box.Dst.Offset, box.Src.Offset, box.Shape, box.Stride = 8, 4, [4]int{1, 2, 1, 4}, [4]int{0, 96, 0, 8}
	b.device.Copy(0, box, b.block)
	b.device.Copy(0, runtime.Transfer{
		Dst: runtime.Span{Memory: 2}, Src: runtime.Span{Memory: 1}, Elem: 8, Shape: [4]int{1, 1, 1, 5}, Stride: [4]int{0, 0, 0, 8},
		Label: box.Label, Index: runtime.Span{Memory: 0, Offset: 4}, Picks: 2,
	}, b.block) // elements 1 and 2
	if err := b.finish(0); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int32{-1, -1, 1, 3, 5, 7, -1} { // 25, 27, 29, 31 are not picked
		if b.host[i] != want {
			t.Errorf("element %d is %d, not %d", i, b.host[i], want)
		}
	}
}

// TestKernelsAddressTheHost runs a kernel on memory of the host, which the device is told to use.
func TestKernelsAddressTheHost(t *testing.T) {
	b := open(t, gpusim.Options{}, runtime.State)
	b.load(0)
	b.device.Run(0, command(0, 1, 1, double), b.block, 0)
	wantFault(t, b.finish(0), "bounds: 4 bytes at 0x", "no allocation is there")

	b = open(t, gpusim.Options{}, runtime.State)
	b.share(1)
	b.load(0)
	b.device.Run(0, command(0, 1, elems/4, double), b.block, 0)
	if err := b.finish(0); err != nil || b.host[elems-1] != 2*(elems-1) {
		t.Errorf("the last element is %d, error %v", b.host[elems-1], err)
	}
}

// TestBadCommandsFail has commands and transfers that no plan has.
func TestBadCommandsFail(t *testing.T) {
	tests := []struct {
		name, want string
		submit     func(b *bench)
	}{
		{"another kind", "a command of another kind of device: func()", func(b *bench) {
			b.device.Run(0, &runtime.Command{Kernel: func() {}}, b.block, 0)
		}},
		{"no text", "its text: 1:1: ", func(b *bench) {
			b.device.Run(0, command(0, 1, 1, &gpu.Kernel{Name: "none", Threads: 4, Args: 3}), b.block, 0)
		}},
		{"wrong arguments", "3 arguments, it has 2", func(b *bench) {
			k := *double
			k.Args = 2
			b.device.Run(0, command(0, 1, 1, &k), b.block, 0)
		}},
		{"wrong threads", "its text has 4 threads and 3 arguments, not 8 and 3", func(b *bench) {
			k := *double
			k.Threads = 8
			b.device.Run(0, command(0, 1, 1, &k), b.block, 0)
		}},
		{"no kernel of kir", "operand 1 is a i32", func(b *bench) {
			b.device.Run(0, command(0, 1, 1, kernel("k", "%e = add %p, %t")), b.block, 0)
		}},
		{"panic", "index out of range", func(b *bench) {
			b.device.Run(0, command(0, 9, 1, double), b.block, 0)
		}},
		{"outside", "bytes 0 to 259 of 256 of memory 1", func(b *bench) { b.device.Copy(0, whole(1, 0, elems+1), b.block) }},
		{"another device", "memory 0 is of another device", func(b *bench) {
			other := open(b.t, gpusim.Options{}, runtime.State)
			b.block.Memory[0] = other.block.Memory[0]
			b.device.Copy(0, whole(1, 0, 4), b.block)
		}},
		{"a picked element", "element 7 is picked, and there are 3", func(b *bench) {
			b.load(0)
			p := whole(1, 0, 3)
			p.Picks, p.Index = 1, runtime.Span{Offset: 28}
			b.device.Copy(0, p, b.block)
		}},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			b := open(t, gpusim.Options{}, runtime.State)
			tt.submit(b)
			if err := b.finish(0); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, without %q", err, tt.want)
			}
		})
	}
}

// TestSeedsAndLanesAreThoseOfTheOptions has a kernel whose result depends on the order of threads, and one that shows
// the size of a subgroup.
func TestSeedsAndLanesAreThoseOfTheOptions(t *testing.T) {
	order := kernel("order", "%one = const u32 1\n%v = atomic_add %x, %one\nstore %q, %v")
	results := make(map[[elems]int32]bool)
	for seed := range uint64(8) {
		b := open(t, gpusim.Options{Seed: 100 * seed}, runtime.State, runtime.State)
		b.load(0)
		b.device.Run(0, command(0, 1, elems/4, order), b.block, 0)
		b.device.Copy(0, whole(2, 1, elems), b.block)
		if err := b.finish(0); err != nil {
			t.Fatal(err)
		}
		results[[elems]int32(b.host)] = true
	}
	if len(results) < 6 {
		t.Errorf("8 seeds have %d orders", len(results))
	}
	for _, lanes := range []int{0, 4, 64} {
		b := open(t, gpusim.Options{Lanes: lanes}, runtime.State, runtime.State)
		b.load(0)
		size := kernel("lanes", "%l = lanes\nstore %q, %l")
		size.Code, size.Threads = strings.Replace(size.Code, "threads=4", "threads=64", 1), 64
		b.device.Run(0, command(0, 1, 1, size), b.block, 0)
		b.device.Copy(0, whole(2, 1, 1), b.block)
		want := lanes
		if lanes == 0 {
			want = 32
		}
		if err := b.finish(0); err != nil || int(b.host[0]) != want {
			t.Errorf("subgroups of %d threads, want %d, error %v", b.host[0], want, err)
		}
	}
}

// TestMemoryIsFreed allocates memory that nothing refers to.
func TestMemoryIsFreed(t *testing.T) {
	d, err := new(gpusim.Loader).Open(&runtime.DeviceInfo{Name: "gpusim"}, 0, new(runtime.Supervisor))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	const each, most = 1 << 20, 1 << 28
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	for range most / each {
		if _, err := d.Alloc(runtime.State, each); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		goruntime.GC()
		time.Sleep(time.Millisecond)
		if goruntime.ReadMemStats(&after); after.HeapAlloc < before.HeapAlloc+most/4 {
			return
		}
	}
	t.Errorf("%d bytes are in use, %d before", after.HeapAlloc, before.HeapAlloc)
}

func TestFlags(t *testing.T) {
	l := new(gpusim.Loader)
	set := make(map[string]func(string) error)
	l.Flags(func(name, _, _ string, f func(string) error) { set[name] = f })
	for name, values := range map[string][2]string{"gpusim-seed": {"0x10", "-1"}, "gpusim-check": {"bounds", "some"}, "gpusim-lanes": {"16", "5"}} {
		if err := set[name](values[0]); err != nil {
			t.Errorf("--%s %s: %v", name, values[0], err)
		}
		if err := set[name](values[1]); err == nil || !strings.HasPrefix(err.Error(), "it must be ") {
			t.Errorf("--%s %s: %v", name, values[1], err)
		}
	}
	if want := (gpusim.Options{Seed: 16, Lanes: 16, Checks: interp.CheckBounds}); l.Options != want {
		t.Errorf("got %+v, want %+v", l.Options, want)
	}
}
