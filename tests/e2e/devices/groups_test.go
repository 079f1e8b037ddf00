package devices

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// groupMachines are groups of threads. Cores that a machine does not have are noted, and change nothing else.
var groupMachines = []e2etest.Machine{
	{Name: "half of the layers each", Targets: "cpu:cores=0,cpu:cores=1", Flags: []string{"--pin", `blk\.[0-2]\..*=cpu:0`}},
	{Name: "several threads in a group", Targets: "cpu:cores=0-2,cpu:cores=3", Flags: []string{"--pin", `(blk\.[0-3]\.|output).*=cpu:0`}},
	{Name: "three groups", Targets: "cpu:cores=0,cpu:cores=1,cpu:cores=2",
		Flags: []string{"--pin", `blk\.[01]\..*=cpu:0`, "--pin", `(blk\.[34]\.|output).*=cpu:1`}},
	{Name: "a host that waits", Targets: "cpu:cores=0,cpu:cores=1,cpu", Flags: []string{"--pin", `blk\.[0-1]\..*=cpu:0`, "--pin", `.*=cpu:1`}},
	{Name: "in every layer", Targets: "cpu:cores=0-1,cpu:cores=2", Flags: []string{"--pin", `blk\..*\.attn.*=cpu:0`}},
	{Name: "memory of the host", Targets: "cpu:cores=0-1:space=host,cpu:cores=2", Flags: []string{"--pin", `blk\.[0-2]\..*=cpu:0`}},
	{Name: "memory of both", Targets: "target cpu:0 like=cpugroup cores=0-1 space=cpu:0,host\ntarget cpu:1 like=cpu cores=2\n", Flags: []string{"--pin", `blk\.[0-2]\..*=cpu:0`}},
	{Name: "little memory", Targets: "cpu:cores=0:memory=400kB,cpu:cores=1", Flags: nil},
	{Name: "with a device", Targets: "fake,cpu:cores=0-1,cpu:cores=2", Flags: []string{"--pin", `blk\.[01]\..*=fake`, "--pin", `blk\.[23]\..*=cpu:0`}},
}

// buildGroups compiles the small model for groups of threads.
func buildGroups(t *testing.T, m e2etest.Machine, flags ...string) string {
	t.Helper()
	if strings.HasPrefix(m.Targets, "target ") {
		return m.MustBuildOn(t, flags...)
	}
	exe := filepath.Join(t.TempDir(), "story")
	e2etest.GGMLC(t, slices.Concat([]string{"build", e2etest.AIDreams(t), "-o", exe, "--kv", "f32", "--batch", "4",
		"--targets", m.Targets}, m.Flags, flags)...)
	return exe
}

// TestGroupsTellTheSame runs the model on groups of threads, one step at a time and two.
func TestGroupsTellTheSame(t *testing.T) { tellTheSame(t, groupMachines) }

// tellTheSame compares what programs for machines tell with the references: every other program has two steps in
// flight.
func tellTheSame(t *testing.T, machines []e2etest.Machine) {
	refs := e2etest.AIDreamsReferences(t)
	for i, m := range machines {
		t.Run(m.Name, func(t *testing.T) {
			if i > 1 {
				needtest.Slow(t, "e2e")
			}
			exe := buildGroups(t, m, "--pipeline", fmt.Sprint(1+i%2))
			e2etest.Executable(exe).TellsAll(t, refs)
			e2etest.Executable(exe, "--threads", "1").Tells(t, refs[i%len(refs)])
		})
	}
}

// crossings have layers on threads before and after layers on devices, so that values go both ways.
var crossings = []e2etest.Machine{
	{Name: "threads, then a device", Targets: "fake,cpu:cores=0,cpu:cores=1", Flags: []string{"--pin", `blk\.[02]\..*=cpu:0`, "--pin", `blk\.[13]\..*=fake`}},
	{Name: "a GPU between threads", Targets: "gpusim,cpu:cores=0-1,cpu:cores=2", Flags: []string{"--pin", `blk\.[02]\..*=cpu:0`, "--pin", `blk\.[13]\..*=gpusim`}},
	{Name: "in every layer of all", Targets: "gpusim,fake,cpu:cores=0,cpu:cores=1",
		Flags: []string{"--pin", `blk\..*attn.*=gpusim`, "--pin", `blk\.[0-2]\.ffn.*=cpu:0`, "--pin", `blk\.3\.ffn.*=fake`}},
	{Name: "a group of all kinds", Targets: "gpusim,fake,cpu:cores=0,cpu:cores=1", Flags: []string{"--group", "tp=cpu:0*1,fake*2,gpusim*1"}},
}

// crossingTokens is how many tokens are generated where a simulated GPU computes, which is a thousand times as slow as the processor.
const crossingTokens = 4

// TestCrossingsTellTheSame runs the model where values go from threads to a device and back, one step at a time and two. The plan
// names all backends.
func TestCrossingsTellTheSame(t *testing.T) {
	refs := e2etest.AIDreamsReferences(t)
	for i, m := range crossings {
		t.Run(m.Name, func(t *testing.T) {
			if i > 1 {
				needtest.Slow(t, "e2e")
			}
			exe := buildGroups(t, m, "--pipeline", fmt.Sprint(1+i%2))
			plan, err := exec.Command(exe, "plan").Output()
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range strings.Split(m.Targets, ",") {
				name, _, threads := strings.Cut(name, ":cores=")
				if threads {
					name += ":0" // the last one is the host
				}
				if !regexp.MustCompile(`split \d+ on ` + name + `\b`).Match(plan) {
					t.Errorf("the plan has nothing on %s:\n%s", name, plan)
				}
			}
			ref := refs[i%len(refs)]
			ref.Greedy = ref.Greedy[:crossingTokens]
			e2etest.Executable(exe).Tells(t, ref)
		})
	}
}

// TestChunksOverlapOnGroups: with --pipeline 2 a chunk of the prompt begins on the first group before the one before it
// has ended on the second.
func TestChunksOverlapOnGroups(t *testing.T) {
	for i, want := range []bool{false, true} {
		exe := buildGroups(t, groupMachines[3], "--pipeline", fmt.Sprint(i+1))
		stepsOverlap(t, exe, want)
	}
}

// TestMissingCoresAreNoted: the program states which cores it runs on instead.
func TestMissingCoresAreNoted(t *testing.T) {
	exe := buildGroups(t, e2etest.Machine{Targets: "cpu:cores=8000,cpu:cores=0+8001"}, "--pin", `blk\.[0-2]\..*=cpu:0`)
	out, err := exec.Command(exe, "--tokens", "5", "-n", "1").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"cpu:0: the cores 8000 are not among those that this process may use", "its threads run on any",
		"the host: not all of the cores 0,8001 are among those", "it runs on 0\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the program does not state %q:\n%s", want, out)
		}
	}
}

// TestGroupsHaveNoRaces runs groups and workers under Go's race detector, with kernels in Go.
func TestGroupsHaveNoRaces(t *testing.T) {
	needtest.Slow(t, "race")
	needtest.Tool(t, "race", "gcc")
	for i, m := range []e2etest.Machine{groupMachines[1], groupMachines[5], groupMachines[6]} {
		exe := buildGroups(t, m, "--pipeline", "2", "--race", "--tags", "purego")
		p := e2etest.Executable(exe)
		p.Env = []string{"GORACE=halt_on_error=1", "GOMAXPROCS=6"}
		p.Tells(t, e2etest.AIDreamsReferences(t)[i])
	}
}
