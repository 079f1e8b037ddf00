package devices

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/assign"

	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// twoDevices is the machine of most tests. Each device has some layers. The CPU has the attention of one layer in the
// middle of the first device's. The second device has the end of a step, so that the first can begin the next one.
var twoDevices = e2etest.Machine{
	Name:    "two devices",
	Targets: "target fake:0 like=fake space=fake:0\ntarget fake:1 like=fake space=fake:1\ntarget cpu like=cpu\n",
	Flags:   []string{"--pin", "blk.1.attn.*=cpu", "--pin", "blk.[0-2].*=fake:0", "--pin", "(blk.3|output).*=fake:1"},
}

var machines = []e2etest.Machine{
	twoDevices,
	{Name: "unpinned", Targets: "target fake:0 like=fake space=fake:0" + e2etest.Fast + "\ntarget fake:1 like=fake space=fake:1" + e2etest.Fast + "\ntarget cpu like=cpu\n"},
	{Name: "the first device alone", Targets: twoDevices.Targets, Flags: []string{"--deny", "fake:1", "--deny", "cpu"}},
	{Name: "in every layer", Targets: twoDevices.Targets, Flags: []string{"--pin", "blk.*.attn.*=fake:0", "--pin", "blk.*.ffn.*=fake:1"}},
	{Name: "the processor in every layer", Targets: twoDevices.Targets, Flags: []string{"--pin", "blk.*.attn.*=cpu", "--pin", "blk.*.ffn.*=fake:1"}},
	{Name: "queues for copies",
		Targets: "target fake:0 like=fake space=fake:0 queues=2\ntarget fake:1 like=fake space=fake:1 queues=2\ntarget cpu like=cpu\n", Flags: twoDevices.Flags},
	{Name: "no events",
		Targets: "target fake:0 like=fake space=fake:0 events=false\ntarget fake:1 like=fake space=fake:1\ntarget cpu like=cpu\n", Flags: twoDevices.Flags},
	{Name: "no queues",
		Targets: "target fake:0 like=fake space=fake:0 queues=0\ntarget fake:1 like=fake space=fake:1\ntarget cpu like=cpu\n", Flags: twoDevices.Flags},
	{Name: "few ops",
		Targets: "target fake:0 like=fake space=fake:0 ops=-rope,-rms_norm" + e2etest.Fast + "\ntarget fake:1 like=fake space=fake:1 ops=*,-attention,-matmul_swiglu" + e2etest.Fast + "\ntarget cpu like=cpu\n"},
	{Name: "shared memory",
		Targets: "target npu like=fake space=host\ntarget fake:1 like=fake space=fake:1\ntarget cpu like=cpu\n",
		Flags:   []string{"--pin", "blk.[0-1].attn.*=npu", "--pin", "blk.3.*=fake:1"}},
	{Name: "small allocations",
		Targets: "target fake:0 like=fake space=fake:0 maxalloc=140kB\ntarget fake:1 like=fake space=fake:1 maxalloc=140kB\ntarget cpu like=cpu\n", Flags: twoDevices.Flags},
}

// TestDevicesTellTheSame runs the model on two devices and the CPU, with several steps in flight and various delays
// of queues.
func TestDevicesTellTheSame(t *testing.T) {
	exe := twoDevices.MustBuildOn(t, "--pipeline", "2")
	refs := e2etest.AIDreamsReferences(t)
	for seed := range 2 {
		e2etest.Executable(exe, "--fake-seed", fmt.Sprint(seed)).TellsAll(t, refs[:2])
	}
	e2etest.Executable(exe, "--fake-delay", "0s", "--threads", "1").Tells(t, refs[2])
	t.Run("timeline", func(t *testing.T) { stepsOverlap(t, exe, true, "--fake-delay", "1ms") })
	t.Run("plan", func(t *testing.T) { planNamesDevices(t, exe) })
}

// planNamesDevices checks the program's output about its plan.
func planNamesDevices(t *testing.T, exe string) {
	text := string(e2etest.Command{Args: []string{exe, "plan"}}.Run(t))
	for _, want := range []string{"backend fake:0", "backend fake:1", "backend cpu", "queue fake:0", "2 steps under way", "on fake:1, copies in"} {
		if !strings.Contains(text, want) {
			t.Errorf("plan does not say %q:\n%s", want, text)
		}
	}
	var doc struct {
		Pipeline int
		Backends []struct {
			Name, Kind string
			Queues     []string
			Spaces     []string
		}
	}
	if err := json.Unmarshal(e2etest.Command{Args: []string{exe, "plan", "--json"}}.Run(t), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Backends) != 3 || doc.Pipeline != 2 || doc.Backends[0].Kind != "fake" || doc.Backends[0].Queues[0] != "fake:0" {
		t.Errorf("plan --json: %+v", doc)
	}
}

// TestOneStepAtATimeDoesNotOverlap is TestDevicesTellTheSame without overlap: no step begins before the previous one
// has ended.
func TestOneStepAtATimeDoesNotOverlap(t *testing.T) {
	needtest.Slow(t, "e2e")
	exe := twoDevices.MustBuildOn(t)
	e2etest.Executable(exe).Tells(t, e2etest.AIDreamsReferences(t)[0])
	stepsOverlap(t, exe, false, "--fake-delay", "1ms")
}

// TestEachDeviceHasAStepInFlight pins layers to three devices. With three steps in flight each is to have one, so the
// first device makes the table of angles, which all of them read.
func TestEachDeviceHasAStepInFlight(t *testing.T) {
	needtest.Slow(t, "e2e")
	m := e2etest.Machine{Name: "three devices",
		Targets: "target d0 like=fake space=d0\ntarget d1 like=fake space=d1\ntarget d2 like=fake space=d2\ntarget cpu like=cpu\n",
		Flags:   []string{"--pin", "blk.[01].*=d0", "--pin", "blk.2.*=d1", "--pin", "(blk.3|output).*=d2"}}
	for _, rules := range []string{"cost", "ggml-2026"} {
		exe := m.MustBuildOn(t, "--pipeline", "3", "--rules", rules)
		e2etest.Executable(exe).Tells(t, e2etest.AIDreamsReferences(t)[0])
		if got := mostInFlight(timelineOf(t, exe, "--fake-delay", "1ms")); got != 3 {
			t.Errorf("%s: at most %d steps are under way at once, want 3", rules, got)
		}
	}
}

// mostInFlight returns the largest number of steps in flight at any time.
func mostInFlight(spans []span) int {
	begin, end := make(map[int]float64), make(map[int]float64)
	for _, s := range spans {
		if at, known := begin[s.Args.Step]; s.Phase == "X" && (!known || s.TS < at) {
			begin[s.Args.Step] = s.TS
		}
		end[s.Args.Step] = max(end[s.Args.Step], s.TS+s.Dur)
	}
	most := 0
	for _, at := range begin {
		now := 0
		for step := range begin {
			if begin[step] <= at && at < end[step] {
				now++
			}
		}
		most = max(most, now)
	}
	return most
}

// span is the work of one queue for one step, in microseconds.
type span struct {
	Phase   string `json:"ph"`
	TS, Dur float64
	Args    struct{ Step int }
}

// timelineOf runs a prompt of several steps and returns the work of each queue.
func timelineOf(t *testing.T, exe string, flags ...string) []span {
	t.Helper()
	file := filepath.Join(t.TempDir(), "timeline.json")
	prompt := strings.TrimSuffix(strings.Repeat("5,", 64), ",")
	e2etest.Command{Args: append([]string{exe, "--tokens", prompt, "-n", "1", "--timeline", file}, flags...)}.Run(t)
	var spans []span
	if err := json.Unmarshal(e2etest.ReadFile(t, file), &spans); err != nil {
		t.Fatal(err)
	}
	return spans
}

// stepsOverlap runs a prompt of several steps and checks in the timeline whether a step begins before the previous
// one has ended.
func stepsOverlap(t *testing.T, exe string, want bool, flags ...string) {
	t.Helper()
	spans := timelineOf(t, exe, flags...)
	end := make(map[int]float64)
	for _, s := range spans {
		end[s.Args.Step] = max(end[s.Args.Step], s.TS+s.Dur)
	}
	got := slices.ContainsFunc(spans, func(s span) bool {
		return s.Phase == "X" && s.Args.Step > 1 && s.TS < end[s.Args.Step-1]
	})
	if len(end) < 16 || got != want {
		t.Errorf("%d steps; steps overlap: %t, want %t", len(end), got, want)
	}
}

// TestAllMachinesTellTheSame runs the model on all machines, with every set of rules and several numbers of steps in
// flight. Rules that cannot serve a machine have to report that.
func TestAllMachinesTellTheSame(t *testing.T) {
	needtest.Slow(t, "e2e")
	refs := e2etest.AIDreamsReferences(t)
	for _, m := range machines {
		for i, rules := range assign.RuleSets() {
			t.Run(m.Name+"/"+rules, func(t *testing.T) {
				pipeline := 1 + (len(m.Name)+i)%4
				exe, refusal := m.BuildOn(t, "--rules", rules, "--pipeline", fmt.Sprint(pipeline))
				if refusal != "" {
					if rules == "cost" || !strings.Contains(refusal, "which does not run it") {
						t.Error(refusal)
					}
					t.Skip("skip: these rules put a node where it does not run, and say so")
				}
				for seed := range 3 {
					e2etest.Executable(exe, "--fake-seed", fmt.Sprint(seed)).Tells(t, refs[(i+seed)%len(refs)])
				}
			})
		}
	}
}

// TestInstancesAreEquallySpaced has a device that reserves bytes after each tensor. The distance of the instances of
// a value has to be the same inside and outside of a loop.
func TestInstancesAreEquallySpaced(t *testing.T) {
	refs := e2etest.AIDreamsReferences(t)
	for i, tc := range []struct {
		extra, align, batch, pipeline int
	}{
		{64, 64, 2, 2},
		{1, 64, 16, 2},
		{100, 256, 3, 3},
		{4096, 64, 128, 4},
		{63, 4096, 1, 2},
	} {
		t.Run(fmt.Sprintf("extra %d, align %d, batch %d, pipeline %d", tc.extra, tc.align, tc.batch, tc.pipeline), func(t *testing.T) {
			if i > 0 {
				needtest.Slow(t, "e2e")
			}
			text := fmt.Sprintf("target fake:0 like=fake space=fake:0 extra=%d align=%d\ntarget cpu like=cpu\n", tc.extra, tc.align)
			m := e2etest.Machine{Name: "extra bytes", Targets: text, Flags: []string{"--rules", "ggml-2026"}}
			exe := m.MustBuildOn(t, "--pipeline", fmt.Sprint(tc.pipeline), "--batch", fmt.Sprint(tc.batch))
			e2etest.Executable(exe).TellsAll(t, refs)
		})
	}
}

// TestAnyNumberOfStepsInFlight has 1 to 4 of them.
func TestAnyNumberOfStepsInFlightTellsTheSame(t *testing.T) {
	needtest.Slow(t, "e2e")
	refs := e2etest.AIDreamsReferences(t)
	for n := 1; n <= 4; n++ {
		exe := machines[3].MustBuildOn(t, "--pipeline", fmt.Sprint(n))
		for seed := range 4 {
			e2etest.Executable(exe, "--fake-seed", fmt.Sprint(seed)).TellsAll(t, refs)
		}
	}
}

// TestMemoryLimitsAreKept gives the devices less memory than they would use.
func TestMemoryLimitsAreKept(t *testing.T) {
	needtest.Slow(t, "e2e")
	m := e2etest.Machine{Name: "limits", Targets: twoDevices.Targets, Flags: []string{"--max-memory", "fake:0=400kB", "--max-memory", "fake:1=500kB"}}
	exe := m.MustBuildOn(t, "--pipeline", "2")
	e2etest.Executable(exe).TellsAll(t, e2etest.AIDreamsReferences(t))
}

// TestScarceMemorySplitsCopies gives a device a byte less than it needs with one copy of each value. It gets the
// table of angles, which the first and the third layer read, twice.
func TestScarceMemorySplitsCopies(t *testing.T) {
	needtest.Slow(t, "e2e")
	m := e2etest.Machine{Name: "parted", Targets: "target fake:0 like=fake space=vram queues=1\ntarget cpu like=cpu\n", Flags: []string{"--pin", `blk\.[024]\..*=fake:0`, "--pin", ".*=cpu"}}
	targets := filepath.Join(t.TempDir(), "machine.targets")
	e2etest.WriteFile(t, targets, []byte(m.Targets))
	flags := slices.Concat([]string{e2etest.AIDreams(t), "--kv", "f32", "--batch", "4", "--target-file", targets}, m.Flags)
	var plan struct {
		Summary struct {
			Arenas []struct {
				Space string
				Bytes int64
			}
		}
	}
	if err := json.Unmarshal(e2etest.GGMLC(t, slices.Concat([]string{"explain", "--json"}, flags)...), &plan); err != nil {
		t.Fatal(err)
	}
	limit := int64(-1)
	for _, a := range plan.Summary.Arenas {
		if a.Space == "vram" {
			limit += a.Bytes
		}
	}
	less := []string{"--max-memory", fmt.Sprintf("fake:0=%d", limit)}
	if dump := e2etest.GGMLC(t, slices.Concat([]string{"dump", "--after", "elide-copy"}, flags, less)...); !strings.Contains(string(dump), "elide-copy/copy.apart") {
		t.Errorf("with %d bytes on the device, nothing is copied twice", limit)
	}
	e2etest.Executable(m.MustBuildOn(t, less...)).TellsAll(t, e2etest.AIDreamsReferences(t)[:2])
}

// TestDevicesHaveNoRaces runs queues and workers under Go's race detector, with kernels in Go.
func TestDevicesHaveNoRaces(t *testing.T) {
	needtest.Slow(t, "race")
	needtest.Tool(t, "race", "gcc")
	for _, m := range []e2etest.Machine{twoDevices, machines[4], machines[6]} {
		exe := m.MustBuildOn(t, "--pipeline", "2", "--race", "--tags", "purego")
		for seed := range 3 {
			p := e2etest.Executable(exe, "--fake-seed", fmt.Sprint(seed))
			p.Env = []string{"GORACE=halt_on_error=1", "GOMAXPROCS=3"}
			p.Tells(t, e2etest.AIDreamsReferences(t)[seed])
		}
	}
}

// TestUnknownKindIsRefused: the error states what to do.
func TestUnknownKindIsRefused(t *testing.T) {
	m := e2etest.Machine{Name: "tpu", Targets: "target tpu kind=tpu space=tpu ops=*\ntarget cpu like=cpu\n"}
	_, refusal := m.BuildOn(t)
	if !strings.Contains(refusal, "exit status 2") || !strings.Contains(refusal, "kind cpu, cpugroup, fake, cuda, gpusim and vulkan, not tpu") {
		t.Errorf("refused with:\n%s", refusal)
	}
}
