package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Memories and offsets of the relay.
const (
	relayIO  = iota // host: x, then y
	relayOne        // activations of the first group: x, then x+1
	relayTwo        // activations of the second: x+1, then the result
	relayOut = 256  // offset of what a group writes
)

// relay is a module of two groups and the host, in the form of emitted code: y[i] = 2 * ((x[i]+1) + (x[n-1-i]+1)). In
// both groups each thread writes its part, and reads what other threads have written after a barrier.
type relay struct {
	cores [2][]int
	wrong func(e *GroupEnv) // runs in the second group before its barrier
}

func (r relay) program() *Program {
	n := []Dim{{Sym: 0, Scale: 1}}
	groups := &Groups{}
	return &Program{
		Name: "relay", IOBytes: 2 * relayOut, MaxThreads: 2,
		Symbols: []Symbol{{"n", 1, 32}},
		Funcs: []Func{{
			Name:    "f",
			Inputs:  []Tensor{{Name: "x", Type: dtype.I32, Dims: n}},
			Outputs: []Tensor{{Name: "y", Type: dtype.I32, Dims: n, Offset: relayOut}},
			Run:     r.step(),
		}},
		Devices: NewDevices(Layout{
			Pipeline: 1, Events: 3,
			Devices: []DeviceInfo{
				{Name: "cpu:0", Cores: r.cores[0], Loader: groups, Queues: []string{"cpu:0"}, Memory: []int{relayOne}},
				{Name: "cpu:1", Cores: r.cores[1], Loader: groups, Queues: []string{"cpu:1"}, Memory: []int{relayTwo}},
			},
			Queues: []QueueInfo{{Device: 0}, {Device: 1}},
			Memory: []Chunk{
				relayIO:  {Space: "host", Class: IO, Device: -1, Bytes: 2 * relayOut},
				relayOne: {Space: "cpu:0", Class: Activations, Device: 0, Bytes: 2 * relayOut},
				relayTwo: {Space: "cpu:1", Class: Activations, Device: 1, Bytes: 2 * relayOut},
			},
		}),
	}
}

func (r relay) step() func(w *Worker, a *Args) {
	in, over, out := Label{Func: "f", What: "%x"}, Label{Func: "f", Split: 1, What: "%sum"}, Label{Func: "f", Split: 1, What: "%y"}
	one := &Command{Label: Label{Func: "f"}, Kernel: GroupKernel(r.add)}
	two := &Command{Label: Label{Func: "f", Split: 1}, Kernel: GroupKernel(r.mirror)}
	return func(w *Worker, a *Args) {
		if w.Part == 0 {
			q := a.Queues
			q.Copy(0, &in, 0, relayOne, 0, relayIO, 0, 4*a.Dims[0])
			q.Run(0, one, 0)
			q.Copy(0, &over, 0, relayTwo, 0, relayOne, relayOut, 4*a.Dims[0])
			q.Record(0, 1)
			q.Wait(1, 1)
			q.Run(1, two, 0)
			q.Copy(1, &out, 0, relayIO, relayOut, relayTwo, relayOut, 4*a.Dims[0])
			q.Record(1, 2)
			q.Await(2)
		}
		w.Barrier()
		y := (*[32]int32)(unsafe.Add(a.IO, relayOut))
		lo, hi := share(a.Dims[0], w)
		for i := lo; i < hi; i++ {
			y[i] *= 2
		}
	}
}

func (r relay) part(e *GroupEnv) (lo, hi int) {
	return e.Dims[0] * e.Part / e.Parts, e.Dims[0] * (e.Part + 1) / e.Parts
}

func (r relay) add(e *GroupEnv, _ int) {
	x, y := (*[32]int32)(e.Mem[relayOne]), (*[32]int32)(unsafe.Add(e.Mem[relayOne], relayOut))
	lo, hi := r.part(e)
	for i := lo; i < hi; i++ {
		y[i] = x[i] + 1
	}
}

func (r relay) mirror(e *GroupEnv, _ int) {
	x, y := (*[32]int32)(e.Mem[relayTwo]), (*[32]int32)(unsafe.Add(e.Mem[relayTwo], relayOut))
	lo, hi := r.part(e)
	for i := lo; i < hi; i++ {
		y[i] = x[i]
	}
	if r.wrong != nil {
		r.wrong(e)
	}
	e.Barrier()
	for i := lo; i < hi; i++ {
		x[i] += y[e.Dims[0]-1-i]
	}
	e.Barrier()
	copy(y[lo:hi], x[lo:hi])
}

// relayWant is the definition of the relay.
func relayWant(x []int32) []int32 {
	y := make([]int32, len(x))
	for i := range x {
		y[i] = 2 * (x[i] + 1 + x[len(x)-1-i] + 1)
	}
	return y
}

var relayInput = []int32{5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41}

// TestGroupsComputeTogether runs two groups of several threads, with several sessions at a time, with and without
// bounds of threads, and with poison.
func TestGroupsComputeTogether(t *testing.T) {
	for _, threads := range []int{0, 1, 2} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(4))
			m, err := Open(relay{cores: [2][]int{{8000, 8001, 8002}, {0, 1}}}.program(), Options{Threads: threads, Poison: threads == 1})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			var all sync.WaitGroup
			for i := range 4 {
				all.Go(func() {
					s, err := m.NewSession()
					for k := 1; err == nil && k < 60; k++ {
						x, y := relayInput[:1+(i+k)%len(relayInput)], []int32(nil)
						if err = s.Call(t.Context(), 0, []any{x}, []any{&y}); err == nil && !slices.Equal(y, relayWant(x)) {
							err = fmt.Errorf("y is %d, want %d", y, relayWant(x))
						}
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			for i := range 20 {
				if err := m.SetThreads(i % 4); err != nil {
					t.Error(err)
				}
			}
			all.Wait()
		})
	}
}

// TestFaultOfAGroupEndsTheStep: the error names the group and its command, whichever thread fails. Other threads of the
// group leave the barrier.
func TestFaultOfAGroupEndsTheStep(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(4))
	for part := range 3 {
		r := relay{cores: [2][]int{{8000}, {8001, 8002, 8003}}, wrong: func(e *GroupEnv) {
			if e.Part == part {
				panic("the kernel broke")
			}
		}}
		m, err := Open(r.program(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		var y []int32
		err = s.Call(t.Context(), 0, []any{relayInput}, []any{&y})
		var f *FaultError
		if !errors.As(err, &f) || f.Device != "cpu:1" || !strings.Contains(err.Error(), "@f split 1") || !strings.Contains(err.Error(), "the kernel broke") {
			t.Errorf("part %d: the error is %v, want one that names the group and the split", part, err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFaultOfATransferOfAGroup: a transfer outside of a memory ends the step as well.
func TestFaultOfATransferOfAGroup(t *testing.T) {
	p := relay{cores: [2][]int{{0}, {1}}}.program()
	run := p.Funcs[0].Run
	p.Funcs[0].Run = func(w *Worker, a *Args) {
		if w.Part == 0 {
			a.Queues.Copy(1, &Label{Func: "f", Split: 7, What: "%far"}, 0, relayTwo, relayOut, relayIO, relayOut, 2*relayOut)
		}
		run(w, a)
	}
	_, s := openProgram(t, p, Options{})
	var y []int32
	err := s.Call(t.Context(), 0, []any{relayInput}, []any{&y})
	if !errors.Is(err, ErrFault) || !strings.Contains(err.Error(), "cpu:1") || !strings.Contains(err.Error(), "@f split 7: %far") {
		t.Errorf("the error is %v, want one that names the group and the transfer", err)
	}
}

// TestGroupsEndWithTheModel: no goroutine is left after Close, not even that of a group that nothing was submitted to.
func TestGroupsEndWithTheModel(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(4))
	before := goruntime.NumGoroutine()
	for range 5 {
		m, err := Open(relay{cores: [2][]int{{0, 1, 8000}, {8001, 8002}}}.program(), Options{Timeline: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		var y []int32
		ctx, cancel := context.WithCancel(t.Context())
		if err := s.Call(ctx, 0, []any{relayInput}, []any{&y}); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := s.Call(ctx, 0, []any{relayInput}, []any{&y}); !errors.Is(err, ErrCancelled) {
			t.Errorf("a cancelled call gives %v", err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for wait := time.Now(); goruntime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Since(wait) > 5*time.Second {
			t.Fatalf("%d goroutines, and %d before the models were opened", goruntime.NumGoroutine(), before)
		}
	}
}

// TestCoresAreChosen: threads are bound to those cores that the process may use.
func TestCoresAreChosen(t *testing.T) {
	if !canBind {
		t.Skip("skip: this system does not bind threads to cores")
	}
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(8))
	var mask coreMask
	mask.load()
	here := mask.cores()[0]
	for _, tt := range []struct {
		cores   []int
		use     []int
		threads int
		note    string
	}{
		{[]int{here}, []int{here}, 1, ""},
		{[]int{8000, here}, []int{here}, 1, fmt.Sprintf("g: not all of the cores %d,8000 are among those that this process may use (%s): it runs on %d", here, coreList(mask.cores()), here)},
		{[]int{8000, 8001, 8003}, nil, 3, fmt.Sprintf("g: the cores 8000-8001,8003 are not among those that this process may use (%s): its threads run on any", coreList(mask.cores()))},
	} {
		use, threads, note := useCores("g", tt.cores)
		if !slices.Equal(use, tt.use) || threads != tt.threads || note != tt.note {
			t.Errorf("cores %d: %d on %d, note %q; want %d on %d, %q", tt.cores, threads, use, note, tt.threads, tt.use, tt.note)
		}
	}
}

// TestThreadsRunOnTheirCores: each worker of a pool with cores, the caller included, may run on its core only, and the
// caller may run where it did before after the step.
func TestThreadsRunOnTheirCores(t *testing.T) {
	var mask coreMask
	mask.load()
	all := mask.cores()
	if len(all) < 2 {
		t.Skip("skip: there is one core")
	}
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(4))
	p := newTestPool(t, 2)
	p.bindTo([]int{all[1], all[0]})
	var got [2][]int
	step := &Func{Run: func(w *Worker, _ *Args) {
		var mine coreMask
		mine.load()
		got[w.Part] = mine.cores()
	}}
	if err := p.run(t.Context(), newTicket(), step, &Args{}, nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got[0], all[1:2]) || !slices.Equal(got[1], all[:1]) {
		t.Errorf("workers ran on %d, want %d and %d", got, all[1], all[0])
	}
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	if mask.load(); !slices.Equal(mask.cores(), all) {
		t.Errorf("after the step the caller may run on %d, want %d", mask.cores(), all)
	}
}
