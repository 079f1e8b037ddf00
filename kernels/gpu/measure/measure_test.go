package measure

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/ir/dtype"
	kernels "github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/ondevice"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// clock is a simulated device that computes nothing, and whose work takes a known time of a clock of its own.
type clock struct {
	at                       time.Duration
	submission, perDispatch  time.Duration
	in, out                  float64 // bytes per nanosecond
	dispatches, runs, allocs int
	fail                     error
}

func (c *clock) now() time.Time { return time.Unix(0, int64(c.at)) }

func (c *clock) Open(*runtime.DeviceInfo, int, *runtime.Supervisor) (runtime.Device, error) {
	return c, nil
}

type memory int64

func (m memory) Bytes() int64 { return int64(m) }

func (c *clock) Alloc(_ runtime.Class, n int64) (runtime.Memory, error) {
	c.allocs++
	return memory(n), c.fail
}
func (c *clock) Load(runtime.Memory, []byte) error        { return nil }
func (c *clock) Clear(runtime.Memory) error               { return nil }
func (c *clock) Bind(*runtime.Block) (any, error)         { return nil, nil }
func (c *clock) Record(_ int, e *runtime.Event, n uint64) { e.Signal(n) }
func (c *clock) Wait(int, *runtime.Event, uint64)         {}
func (c *clock) Close() error                             { return nil }

func (c *clock) Run(_ int, cmd *runtime.Command, b *runtime.Block, _ int) {
	e := &gpu.Env{Block: b, Mem: make([]uint64, len(b.Memory))}
	e.Run(cmd.Kernel.(gpu.Command), 0)
	c.runs++
	c.dispatches += len(e.Dispatches)
	c.at += c.submission + time.Duration(len(e.Dispatches))*c.perDispatch
}

func (c *clock) Copy(_ int, t runtime.Transfer, b *runtime.Block) {
	rate := c.in
	if _, ok := b.Memory[t.Src.Memory].(memory); ok {
		rate = c.out
	}
	c.at += c.submission + time.Duration(float64(t.Len())/rate)
}

func (c *clock) open(t *testing.T) *ondevice.Machine {
	on, _ := kernels.Of("vulkan")
	m, err := ondevice.Open(ondevice.Kind{Name: "vulkan", Assumes: on, Loader: c, Assemble: func(*kir.Kernel) ([]byte, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func near(got, want float64) bool { return math.Abs(got-want) <= 0.01*want }

// TestRatesAreThoseOfTheDevice measures a device whose dispatches take 10 µs, whatever they do, and whose submissions
// take 100 µs more.
func TestRatesAreThoseOfTheDevice(t *testing.T) {
	c := &clock{submission: 100 * time.Microsecond, perDispatch: 10 * time.Microsecond, in: 5, out: 10}
	d := target.Vulkan()
	b := &bench{ctx: t.Context(), m: c.open(t), target: d, now: c.now, Options: Options{Bytes: 1 << 20, Time: time.Millisecond}}
	r, err := b.measure()
	if err != nil {
		t.Fatal(err)
	}
	if !near(r.Dispatch, 10e-6) || !near(r.Submit, 110e-6) || !near(r.In, 5e9) || !near(r.Out, 10e9) || !near(r.Delay, 100e-6) {
		t.Errorf("%+v", r)
	}
	var measured []dtype.DType
	for _, p := range r.Products {
		measured = append(measured, p.Weight)
		n := (1 << 20) / p.Weight.Bytes(depth)
		if want := float64(n*p.Weight.Bytes(depth)) / 10e-6; !near(p.Bytes, want) {
			t.Errorf("%v: %g bytes/s instead of %g", p.Weight, p.Bytes, want)
		}
		if want := 2 * depth * 512 * depth / 10e-6; !near(p.Ops, want) {
			t.Errorf("%v: %g operations/s instead of %g", p.Weight, p.Ops, want)
		}
	}
	if want := []dtype.DType{dtype.F32, dtype.F16, dtype.BF16, dtype.Q8_0, dtype.Q4_0}; !slices.Equal(measured, want) {
		t.Errorf("%v are measured, not %v", measured, want)
	}
}

// TestSlowDevicesMultiplySmallMatrices counts the work on a device that takes 10 ms for the smallest product.
func TestSlowDevicesMultiplySmallMatrices(t *testing.T) {
	c := &clock{submission: 100 * time.Microsecond, perDispatch: 10 * time.Millisecond, in: 5, out: 10}
	b := &bench{ctx: t.Context(), m: c.open(t), target: target.Vulkan(), now: c.now, Options: Options{Bytes: 1 << 20, Time: time.Millisecond}}
	p, err := b.product(format{dtype.F16, dtype.F32})
	if err != nil {
		t.Fatal(err)
	}
	if c.runs != 2*(1+rounds) || c.dispatches != c.runs {
		t.Errorf("%d submissions of %d dispatches", c.runs, c.dispatches)
	}
	if want := 2 * depth * 16 * 64 / 10.1e-3; !near(p.Ops, want) {
		t.Errorf("%g operations/s instead of %g", p.Ops, want)
	}
}

func TestErrorsEndTheMeasurement(t *testing.T) {
	c := &clock{fail: errors.New("no memory"), in: 1, out: 1}
	if _, err := Measure(t.Context(), c.open(t), target.Vulkan(), Options{Bytes: 1 << 20, Time: 1}); !errors.Is(err, c.fail) {
		t.Errorf("error %v", err)
	}
}

func TestApplyTakesTheSlowestFormat(t *testing.T) {
	r := &Result{Products: []Product{{dtype.F32, 9e9, 5e12}, {dtype.F16, 8.123e9, 6e12}, {dtype.Q4_0, 8.5e9, 3e12}, {dtype.Q8_0, 9e9, 4e12}},
		Dispatch: 2e-6, In: 1e10, Out: 2e10, Delay: 3e-5}
	d := target.Vulkan()
	r.Apply(d)
	want := target.Rates{FLOPs: 5e12, QuantOps: 3e12, Bandwidth: 8.1e9, WorkerBW: 8.1e9, Launch: 2e-6, Link: 1e10, LinkOut: 2e10, LinkDelay: 3e-5}
	if d.Rates != want {
		t.Errorf("%+v instead of %+v", d.Rates, want)
	}
	l, err := target.Parse("x", r.Comments()+"target "+d.String()+"\n")
	if err != nil || l.Get("vulkan").Rates != want {
		t.Errorf("%v: the printed target reads otherwise", err)
	}
	if text := r.Comments(); strings.Count(text, "\n") != 5 || !strings.HasPrefix(text, "# f32 weights: one row reads 9e+09 bytes/s") {
		t.Errorf("comments\n%s", text)
	}
	before := d.Rates
	new(Result).Apply(d)
	if d.Rates != before {
		t.Errorf("nothing was measured, and the rates are %+v", d.Rates)
	}
}
