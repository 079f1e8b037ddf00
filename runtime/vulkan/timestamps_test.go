package vulkan_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/vulkan"
	"github.com/ggmlc/ggmlc/tests/drivertest"
)

// spanEvent is a span of a timeline.
type spanEvent struct {
	Name    string
	TS, Dur float64 // in microseconds
	Args    struct {
		Step, Round int
		Kernel      string
	}
}

// timed runs a program with a timeline and returns its spans, and the time that it took.
func timed(t *testing.T, l *vulkan.Loader, steps int, further ...drivertest.Dispatch) ([]spanEvent, time.Duration) {
	out := new(bytes.Buffer)
	var messages []string
	l.Validate = func(s string) { messages = append(messages, s) }
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
	for _, m := range messages {
		t.Errorf("validation: %s", m)
	}
	var events []spanEvent
	if err := json.Unmarshal(out.Bytes(), &events); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return events[1:], took
}

// TestKernelsAreOnTheTimeline runs a program whose command has one kernel, with the ways to relate the clocks: the
// kernel is within its command, and the spans are in order, within the time of the run, and do not overlap.
func TestKernelsAreOnTheTimeline(t *testing.T) {
	open(t, setting{})
	for _, c := range []struct {
		name    string
		hidden  []string
		kernels int // of a step
	}{
		{"calibrated", nil, 1},
		{"anchored", []string{vulkan.CalibratedTimestamps}, 1},
		{"no clock", []string{vulkan.QueueClock}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			const steps = 20
			l := new(vulkan.Loader)
			l.Hide(c.hidden...)
			spans, took := timed(t, l, steps)
			if want := steps * (3 + c.kernels); len(spans) != want {
				t.Fatalf("%d spans, want %d", len(spans), want)
			}
			end := 0.0
			for i, s := range spans {
				if s.Args.Kernel != "" {
					if of := spans[i-1]; s.Args.Kernel != "addStored" || s.Name != "the node" || s.TS < of.TS-0.01 || s.TS+s.Dur > of.TS+of.Dur+0.01 || s.Args.Step != of.Args.Step {
						t.Errorf("kernel %+v of %+v", s, of)
					}
					continue
				}
				if s.Dur < 0 || s.TS < end-0.01 {
					t.Errorf("span %d, %+v, begins before %v", i, s, end)
				}
				end = s.TS + s.Dur
			}
			if whole := (end - spans[0].TS) / 1e6; whole > took.Seconds() || whole < took.Seconds()/4 {
				t.Errorf("the spans take %v s of %v", whole, took)
			}
		})
	}
}

// TestTimesOfKernelsAreTheirOwn compares a kernel of many workgroups with some of one, in commands that are submitted
// at once.
func TestTimesOfKernelsAreTheirOwn(t *testing.T) {
	open(t, setting{})
	short := kernels.Scaling(drivertest.Arg{Memory: drivertest.ToyWeights}, drivertest.Arg{Memory: drivertest.ToyWeights}, drivertest.ToyVocab, 1)
	long := short
	long.Groups = 50000
	spans, _ := timed(t, new(vulkan.Loader), 3, short, long, short)
	kernels := slices.DeleteFunc(spans, func(s spanEvent) bool { return s.Args.Kernel == "" })
	if len(kernels) != 3*4 {
		t.Fatalf("%d kernels of 3 steps", len(kernels))
	}
	slower := 0
	for step := range 3 {
		k := kernels[4*step : 4*step+4]
		if k[1].Args.Kernel != "scale" || k[1].Name != "scale" || k[2].TS < k[1].TS+k[1].Dur-0.01 {
			t.Errorf("step %d: %+v", step+1, k)
		}
		if k[2].Dur > 2*k[1].Dur && k[2].Dur > 2*k[3].Dur {
			slower++
		}
	}
	if slower == 0 { // other load may hide it in some steps
		t.Errorf("the kernel of many workgroups is not slower: %+v", kernels)
	}
}

// TestWithoutATimelineThereAreNoQueries counts the objects of a device that has run a command, with a timeline and
// without.
func TestWithoutATimelineThereAreNoQueries(t *testing.T) {
	live := func(timeline *runtime.Timeline) int {
		b := open(t, setting{device: []int64{256, 256}, timeline: timeline})
		b.Device.Run(0, drivertest.Command(kernels.Scaling(drivertest.Arg{Memory: 1}, drivertest.Arg{}, 64, 3)), b.Blocks[0], 0)
		b.Finish(0)
		return vulkan.Live(b.Device)
	}
	if without, with := live(nil), live(new(runtime.Timeline)); with != without+1 {
		t.Errorf("%d objects without a timeline, %d with one", without, with)
	}
}
