//go:build linux

package cuda_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/cuda"
	"github.com/ggmlc/ggmlc/tests/cudasim"
	"github.com/ggmlc/ggmlc/tests/drivertest"
)

// spanEvent is a span of a timeline.
type spanEvent struct {
	Name    string
	TS, Dur float64 // in microseconds
	Args    struct {
		Step   int
		Kernel string
	}
}

func (s *spanEvent) end() float64 { return s.TS + s.Dur }

// timed runs a program with a timeline and returns its spans, and the time that it took.
func timed(t *testing.T, config cudasim.Config, steps int, further ...drivertest.Dispatch) ([]spanEvent, time.Duration) {
	t.Helper()
	d := cudasim.New(config)
	library().Use(d)
	out := new(bytes.Buffer)
	l := &cuda.Loader{Options: cuda.Options{Symbol: library().Symbol}}
	toy := drivertest.Toy{Kernels: kernels, Loader: l, Further: further}
	m, err := runtime.Open(toy.Program(), runtime.Options{Threads: 1, Timeline: out})
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for range steps {
		if _, err := s.Decode(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(begin)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if live := d.Live(); len(live) > 0 || len(d.Problems()) > 0 {
		t.Errorf("left %v, problems %q", live, d.Problems())
	}
	var events []spanEvent
	if err := json.Unmarshal(out.Bytes(), &events); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return events[1:], took
}

// few is by how many microseconds spans of a command may differ, and exact is how exactly the clocks are related.
const (
	few   = 1.0
	exact = 50.0
)

// TestKernelsAreOnTheTimeline runs a program whose command has one kernel: the kernel is within its command, and the
// spans are in order, within the time of the run, and do not overlap.
func TestKernelsAreOnTheTimeline(t *testing.T) {
	const steps = 20
	spans, took := timed(t, cudasim.Default(), steps)
	if want := steps * 4; len(spans) != want {
		t.Fatalf("%d spans, want %d", len(spans), want)
	}
	end := 0.0
	for i, s := range spans {
		if s.Args.Kernel != "" {
			if of := spans[i-1]; s.Args.Kernel != "addStored" || s.Name != "the node" || s.TS < of.TS-few || s.end() > of.end()+few || s.Args.Step != of.Args.Step {
				t.Errorf("kernel %+v of %+v", s, of)
			}
			continue
		}
		if s.Dur < 0 || s.TS < end-exact {
			t.Errorf("span %d, %+v, begins before %v", i, s, end)
		}
		end = s.end()
	}
	if whole := (end - spans[0].TS) / 1e6; whole > took.Seconds() || whole < took.Seconds()/4 {
		t.Errorf("the spans take %v s of %v", whole, took)
	}
}

// TestTimesOfKernelsAreTheirOwn compares a kernel of many workgroups with some of one. The last two may run at the same
// time, and begin together.
func TestTimesOfKernelsAreTheirOwn(t *testing.T) {
	short := kernels.Scaling(drivertest.Arg{Memory: drivertest.ToyWeights}, drivertest.Arg{Memory: drivertest.ToyWeights}, drivertest.ToyVocab, 1)
	long, beside := short, short
	long.Groups, beside.Beside = 2000, true
	spans, _ := timed(t, cudasim.Default(), 3, short, long, short, beside)
	kernels := slices.DeleteFunc(spans, func(s spanEvent) bool { return s.Args.Kernel == "" })
	if len(kernels) != 3*5 {
		t.Fatalf("%d kernels of 3 steps", len(kernels))
	}
	for step := range 3 {
		k := kernels[5*step : 5*step+5]
		if k[1].Args.Kernel != "scale" || k[1].Name != "scale" || k[2].TS < k[1].end()-few || k[3].TS < k[2].end()-few {
			t.Errorf("step %d: %+v", step+1, k)
		}
		if k[3].TS != k[4].TS {
			t.Errorf("step %d: kernels of a group begin at %v and %v", step+1, k[3].TS, k[4].TS)
		}
	}
	slower := func(step int) bool { k := kernels[5*step:]; return k[2].Dur > 2*k[1].Dur && k[2].Dur > 2*k[3].Dur }
	if !slower(0) && !slower(1) && !slower(2) { // other load may hide it in some steps
		t.Errorf("the kernel of many workgroups is not slower: %+v", kernels)
	}
}

// TestClocksAreRelatedAnew runs for longer than the clocks stay related.
func TestClocksAreRelatedAnew(t *testing.T) {
	b := open(t, setting{timeline: new(runtime.Timeline), device: []int64{64}})
	before := b.driver.Calls("cuEventRecord")
	b.Device.Run(0, spinning(1), b.Blocks[0], 0)
	b.Finish(0)
	once := b.driver.Calls("cuEventRecord") - before
	time.Sleep(1100 * time.Millisecond)
	before = b.driver.Calls("cuEventRecord")
	b.Device.Run(0, spinning(1), b.Blocks[0], 0)
	b.Finish(0)
	if again := b.driver.Calls("cuEventRecord") - before; again <= once {
		t.Errorf("%d records in the first second, %d after it", once, again)
	}
	b.Device.Run(0, spinning(1), b.Blocks[0], 0)
	b.Finish(0)
}

// TestWithoutATimelineThereAreNoTimes counts the calls of a device that has run a command.
func TestWithoutATimelineThereAreNoTimes(t *testing.T) {
	for _, timeline := range []*runtime.Timeline{nil, new(runtime.Timeline)} {
		b := open(t, setting{timeline: timeline, device: []int64{64}})
		b.Device.Run(0, spinning(1), b.Blocks[0], 0)
		b.Finish(0)
		for _, name := range []string{"cuEventRecordWithFlags", "cuEventElapsedTime"} {
			if n := b.driver.Calls(name); (n > 0) != (timeline != nil) {
				t.Errorf("with a timeline: %v: %s is called %d times", timeline != nil, name, n)
			}
		}
		b.Close()
	}
}

// TestTimesThatFail has the calls fail that read the times: the spans have those of the host.
func TestTimesThatFail(t *testing.T) {
	config := cudasim.Default()
	config.Fault = func(name string, _ int) uint32 {
		if name == "cuEventElapsedTime" {
			return 600
		}
		return 0
	}
	spans, _ := timed(t, config, 3)
	if len(spans) != 3*3 {
		t.Errorf("%d spans, want 3 of each step", len(spans))
	}
}
