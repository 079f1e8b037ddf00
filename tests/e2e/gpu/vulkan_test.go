package gpu

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/vulkan"
	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// needVulkan skips the test if there is no device that Vulkan drives.
func needVulkan(t *testing.T) {
	t.Helper()
	d, err := new(vulkan.Loader).Open(&runtime.DeviceInfo{Name: "vulkan", Queues: []string{"vulkan"}}, 0, new(runtime.Supervisor))
	if err != nil {
		needtest.Skip(t, "vulkan", "no Vulkan device: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

const onVulkan = "target vulkan like=vulkan space=vulkan\ntarget cpu like=cpu\n"

// patient are flags of programs whose first step may take long: the driver on the processor compiles their kernels in
// it, for some seconds of processor time, beside other tests.
var patient = []string{"--vulkan-timeout", "2m"}

// vulkanMachines divide the model between a GPU, the processor and a simulated device.
var vulkanMachines = []e2etest.Machine{
	{Name: "whole", Targets: onVulkan, Flags: []string{"--deny", "cpu"}},
	{Name: "the first layers", Targets: onVulkan, Flags: []string{"--pin", "blk.[0-1].*=vulkan", "--pin", "(blk.[2-3]|output).*=cpu"}},
	{Name: "attention", Targets: onVulkan, Flags: []string{"--pin", "blk.*.attn.*=vulkan", "--pin", "blk.*.ffn.*=cpu"}},
	{Name: "two devices", Targets: "target fake:0 like=fake space=fake:0 ops=-rope_table\ntarget vulkan like=vulkan space=vulkan ops=-rope_table\ntarget cpu like=cpu\n",
		Flags: []string{"--pin", "blk.0.*=fake:0", "--pin", "blk.1.*=cpu", "--pin", "blk.2.*=vulkan", "--pin", "(blk.3|output).*=cpu"}},
	{Name: "no events", Targets: "target vulkan like=vulkan space=vulkan events=false\ntarget cpu like=cpu\n", Flags: []string{"--pin", "blk.[1-2].*=vulkan", "--pin", "blk.[03].*=cpu"}},
	{Name: "segments", Targets: onVulkan, Flags: []string{"--ctx", "2048", "--deny", "cpu"}},
	{Name: "two queues", Targets: "target vulkan like=vulkan space=vulkan queues=2\ntarget cpu like=cpu\n", Flags: []string{"--pin", "blk.[1-3].*=vulkan", "--pin", "blk.0.*=cpu"}},
}

// sharedMachines have GPUs that compute in memory of the host. copies is whether they need copies nevertheless.
var sharedMachines = []struct {
	e2etest.Machine
	copies bool
}{
	{e2etest.Machine{Name: "whole", Targets: onHost, Flags: []string{"--deny", "cpu"}}, false},
	{e2etest.Machine{Name: "the first layers", Targets: onHost, Flags: []string{"--pin", "blk.[0-1].*=vulkan", "--pin", "(blk.[2-3]|output).*=cpu"}}, false},
	{e2etest.Machine{Name: "attention", Targets: onHost, Flags: []string{"--pin", "blk.*.attn.*=vulkan", "--pin", "blk.*.ffn.*=cpu"}}, false},
	{e2etest.Machine{Name: "the rest", Targets: onHost, Flags: []string{"--pin", "blk.*.attn.*=cpu", "--pin", "blk.*.ffn.*=vulkan", "--pin", "output.*=vulkan"}}, false},
	{e2etest.Machine{Name: "few ops", Targets: "target vulkan like=vulkan space=host ops=-rope,-rms_norm,-add" + e2etest.Fast + "\ntarget cpu like=cpu\n"}, false},
	{e2etest.Machine{Name: "no attention", Targets: "target vulkan like=vulkan space=host ops=-attention,-state_write" + e2etest.Fast + "\ntarget cpu like=cpu\n"}, false},
	{e2etest.Machine{Name: "no events", Targets: "target vulkan like=vulkan space=host events=false\ntarget cpu like=cpu\n", Flags: []string{"--pin", "blk.[1-2].*=vulkan", "--pin", "blk.[03].*=cpu"}}, false},
	{e2etest.Machine{Name: "no queues", Targets: "target vulkan like=vulkan space=host queues=0\ntarget cpu like=cpu\n", Flags: []string{"--pin", "blk.[1-2].*=vulkan", "--pin", "blk.[03].*=cpu"}}, false},
	{e2etest.Machine{Name: "both spaces", Targets: "target vulkan like=vulkan space=vulkan,host\ntarget cpu like=cpu\n", Flags: []string{"--pin", "blk.[0-1].*=vulkan", "--pin", "(blk.[2-3]|output).*=cpu"}}, true},
	{e2etest.Machine{Name: "the host first", Targets: "target vulkan like=vulkan space=host,vulkan\ntarget cpu like=cpu\n", Flags: []string{"--pin", "blk.[0-1].*=vulkan", "--pin", "(blk.[2-3]|output).*=cpu"}}, false},
	{e2etest.Machine{Name: "three backends", Targets: "target fake:0 like=fake space=fake:0 ops=-rope_table\ntarget vulkan like=vulkan space=host ops=-rope_table\ntarget cpu like=cpu\n",
		Flags: []string{"--pin", "blk.0.*=fake:0", "--pin", "blk.1.*=cpu", "--pin", "blk.2.*=vulkan", "--pin", "(blk.3|output).*=cpu"}}, true},
	{e2etest.Machine{Name: "two devices", Targets: "target vulkan:0 like=vulkan space=host\ntarget vulkan:1 like=vulkan space=host\ntarget cpu like=cpu\n",
		Flags: []string{"--pin", "blk.[02].*=vulkan:0", "--pin", "blk.1.*=vulkan:1", "--pin", "(blk.3|output).*=cpu"}}, false},
}

const onHost = "target vulkan like=vulkan space=host\ntarget cpu like=cpu\n"

// TestVulkanInMemoryOfTheHostTellsTheSame runs the model on GPUs that share the memory of the processor, with one to
// four steps under way. Weights are embedded, or mapped from a file.
func TestVulkanInMemoryOfTheHostTellsTheSame(t *testing.T) {
	needVulkan(t)
	refs := e2etest.AIDreamsReferences(t)
	for i, m := range sharedMachines {
		t.Run(m.Name, func(t *testing.T) {
			if i > 2 {
				needtest.Slow(t, "e2e")
			}
			flags := []string{"--pipeline", fmt.Sprint(1 + i%4)}
			var mapped []string
			if i%2 == 1 {
				mapped = []string{"--weights", filepath.Join(t.TempDir(), "story.weights")}
			}
			exe := m.MustBuildOn(t, append(flags, mapped...)...)
			checkPlan(t, exe, "vulkan", m.copies)
			e2etest.Executable(exe, mapped...).Tells(t, refs[i%len(refs)])
		})
	}
}

// checkPlan looks in the plan of a program for a backend, and whether there are copies.
func checkPlan(t *testing.T, exe, backend string, copies bool) {
	t.Helper()
	plan := string(e2etest.Command{Args: []string{exe, "plan"}}.Run(t))
	if !strings.Contains(plan, "backend "+backend) {
		t.Errorf("nothing runs on the GPU:\n%s", plan)
	}
	if got := strings.Count(plan, " copies a call") != strings.Count(plan, "\n  0 copies a call"); got != copies {
		t.Errorf("copies: %v, want %v:\n%s", got, copies, plan)
	}
}

// TestVulkanTellsTheSame runs the model on a GPU, or on the driver that computes on the processor, alone and together
// with other backends, with one to four steps under way. Prompts take several steps.
func TestVulkanTellsTheSame(t *testing.T) {
	needVulkan(t)
	refs := e2etest.AIDreamsReferences(t)
	for i, m := range vulkanMachines {
		t.Run(m.Name, func(t *testing.T) {
			exe := m.MustBuildOn(t, "--pipeline", fmt.Sprint(1+i%4))
			e2etest.Executable(exe, patient...).Tells(t, refs[i%len(refs)])
		})
	}
}

// TestLongContextsOnVulkan has contexts of which several workgroups look at a part each, and prompts that end near the
// borders of parts. The processor computes the same tokens.
func TestLongContextsOnVulkan(t *testing.T) {
	needVulkan(t)
	dir := t.TempDir()
	flags := []string{"--ctx", "2048", "--kv", "f32"}
	gpuFlags := slices.Concat(flags, []string{"--targets", "vulkan,cpu", "--deny", "cpu"})
	dump := filepath.Join(dir, "cut.ggir")
	e2etest.GGMLC(t, slices.Concat([]string{"dump", "--after", "check", "-o", dump}, gpuFlags, []string{e2etest.AIDreams(t)})...)
	if !strings.Contains(string(e2etest.ReadFile(t, dump)), "attention_segments") {
		t.Fatal("no attention is cut")
	}
	onCPU := e2etest.BuildTo(t, filepath.Join(dir, "cpu"), nil, e2etest.AIDreams(t), flags...)
	onGPU := e2etest.BuildTo(t, filepath.Join(dir, "gpu"), nil, e2etest.AIDreams(t), gpuFlags...)
	for _, prompt := range []int{254, 510} {
		tokens := e2etest.StoryTokens(prompt)
		want, got := e2etest.LogitsAfter(t, []string{onCPU}, tokens, 4), e2etest.LogitsAfter(t, slices.Concat([]string{onGPU}, patient), tokens, 4)
		if !slices.Equal(e2etest.IDsOf(t, got), e2etest.IDsOf(t, want)) {
			t.Errorf("after %d tokens: %v, on the processor %v", prompt, e2etest.IDsOf(t, got), e2etest.IDsOf(t, want))
		}
	}
}

// TestQuantizedCachesOnVulkan runs the demo, whose heads are long enough for q8_0. Its logits differ from those of
// the reference, which has more exact caches, but not the first tokens.
func TestQuantizedCachesOnVulkan(t *testing.T) {
	needVulkan(t)
	exe := e2etest.Build(t, e2etest.Demo(t), "--kv", "q8_0", "--targets", "vulkan,cpu", "--deny", "cpu")
	ref := e2etest.DemoReferences(t)[0]
	n := min(24, len(ref.Greedy))
	lines, err := e2etest.ParseTokens(e2etest.Command{Args: slices.Concat([]string{exe, "--prompt", ref.Prompt, "-n", fmt.Sprint(n), "--json"}, patient)}.Run(t))
	if err != nil || len(lines) < n {
		t.Fatalf("%d lines, error %v", len(lines), err)
	}
	for i, want := range ref.Greedy[:n] {
		if lines[i].ID == nil || *lines[i].ID != want {
			t.Fatalf("token %d: %v, want %d", i, lines[i], want)
		}
	}
}

// stagedMachines have values that go from one device to another by way of the host.
var stagedMachines = []e2etest.Machine{
	{Name: "two GPUs", Targets: "target vulkan:0 like=vulkan space=a\ntarget vulkan:1 like=vulkan space=b\ntarget cpu like=cpu\n",
		Flags: []string{"--pin", "blk.[0-1].*=vulkan:0", "--pin", "(blk.[2-3]|output).*=vulkan:1"}},
	{Name: "two GPUs in every layer", Targets: "target vulkan:0 like=vulkan space=a\ntarget vulkan:1 like=vulkan space=b\ntarget cpu like=cpu\n",
		Flags: []string{"--pin", "blk.*.attn.*=vulkan:0", "--pin", "blk.*.ffn.*=vulkan:1"}},
	{Name: "two GPUs and the processor", Targets: "target vulkan:0 like=vulkan space=a queues=2\ntarget vulkan:1 like=vulkan space=b\ntarget cpu like=cpu\n",
		Flags: []string{"--pin", "blk.*.attn.*=vulkan:1", "--pin", "blk.[0-2].ffn.*=vulkan:0", "--pin", "(blk.3.ffn|output).*=cpu"}},
	{Name: "a simulated device", Targets: "target fake like=fake space=a\ntarget vulkan like=vulkan space=b\ntarget cpu like=cpu\n",
		Flags: []string{"--pin", "blk.*.attn.*=fake", "--pin", "blk.*.ffn.*=vulkan"}},
	{Name: "no events", Targets: "target vulkan:0 like=vulkan space=a events=false\ntarget vulkan:1 like=vulkan space=b queues=0\ntarget cpu like=cpu\n",
		Flags: []string{"--pin", "blk.*.attn.*=vulkan:0", "--pin", "blk.*.ffn.*=vulkan:1"}},
}

// TestDevicesExchangeValuesTellsTheSame runs the model on devices that do not address each other's memory.
func TestDevicesExchangeValuesTellsTheSame(t *testing.T) {
	needVulkan(t)
	refs := e2etest.AIDreamsReferences(t)
	for i, m := range stagedMachines {
		t.Run(m.Name, func(t *testing.T) {
			if i > 1 {
				needtest.Slow(t, "e2e")
			}
			for _, rules := range []string{"cost", "ggml-2026"} {
				exe := m.MustBuildOn(t, "--pipeline", fmt.Sprint(1+i%4), "--rules", rules)
				e2etest.Executable(exe).Tells(t, refs[i%len(refs)])
			}
		})
	}
}

// TestGPUsThatAreNotStagedAreRefused has a target file that claims that GPUs copy to each other.
func TestGPUsThatAreNotStagedAreRefused(t *testing.T) {
	m := e2etest.Machine{Name: "direct", Targets: "target a like=vulkan space=a staged=false\ntarget b like=vulkan space=b staged=false\ntarget cpu like=cpu\n",
		Flags: []string{"--pin", "blk.[0-2].*=a", "--pin", "(blk.3|output).*=b"}}
	if _, refusal := m.BuildOn(t); !strings.Contains(refusal, "exit status 2") || !strings.Contains(refusal, "do not address each other's memory: write staged=true in one of the two targets, and compile the model again, or its dump from before the pass copy") {
		t.Error(refusal)
	}
}

// TestUnknownDevicesOfPrograms: a device that is not there is a matter of the machine, a list with a gap is wrong
// usage.
func TestUnknownDevicesOfPrograms(t *testing.T) {
	needVulkan(t)
	exe := e2etest.Machine{Name: "whole", Targets: onVulkan, Flags: []string{"--deny", "cpu"}}.MustBuildOn(t)
	for device, status := range map[string]int{"7000": 1, "no such device": 1, "0,": 2, "": 2} {
		cmd := exec.CommandContext(t.Context(), exe, "--tokens", "1", "-n", "1", "--vulkan-device", device)
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != status || !strings.Contains(string(out), "evice") {
			t.Errorf("%q: exit status %d, want %d: %s", device, cmd.ProcessState.ExitCode(), status, out)
		}
	}
}

// arenaBytes returns how many bytes of arenas the plan of a program has in a space.
func arenaBytes(t *testing.T, exe, space string) (sum int64) {
	t.Helper()
	for line := range strings.Lines(string(e2etest.Command{Args: []string{exe, "plan"}}.Run(t))) {
		var bytes int64
		var class string
		if n, _ := fmt.Sscanf(line, "arena "+space+" %s %d bytes", &class, &bytes); n == 2 {
			sum += bytes
		}
	}
	return sum
}

// TestVulkanWithLittleMemoryTellsTheSame gives the GPU less memory than it would use.
func TestVulkanWithLittleMemoryTellsTheSame(t *testing.T) {
	needVulkan(t)
	const limit = 400_000
	m := e2etest.Machine{Name: "limit", Targets: "target vulkan like=vulkan space=vulkan" + e2etest.Fast + "\ntarget cpu like=cpu\n"}
	if bytes := arenaBytes(t, m.MustBuildOn(t), "vulkan"); bytes <= limit {
		t.Errorf("without a limit the GPU has %d bytes", bytes)
	}
	exe := m.MustBuildOn(t, "--max-memory", fmt.Sprint("vulkan=", limit))
	if bytes := arenaBytes(t, exe, "vulkan"); bytes == 0 || bytes > limit {
		t.Errorf("with a limit of %d the GPU has %d bytes", limit, bytes)
	}
	e2etest.Executable(exe).Tells(t, e2etest.AIDreamsReferences(t)[0])
}

// TestModelLargerThanTheGPU divides a model of 98 MiB between a GPU with 40 MiB and the processor. If the processor is
// denied, the error says how much memory would be enough.
func TestModelLargerThanTheGPU(t *testing.T) {
	needtest.Slow(t, "e2e")
	needVulkan(t)
	model, limit := e2etest.RandomModel(t), int64(40<<20)
	flags := []string{"--targets", "vulkan,cpu", "--batch", "16"}
	exe := e2etest.Build(t, model, append(flags, "--max-memory", fmt.Sprint("vulkan=", limit))...)
	gpu, host := arenaBytes(t, exe, "vulkan"), arenaBytes(t, exe, "host")
	if gpu > limit || gpu < limit/2 || host < 30<<20 {
		t.Errorf("%d bytes on the GPU, %d on the host", gpu, host)
	}
	e2etest.Command{Args: []string{exe, "--prompt", "Once upon a time", "-n", "4"}}.Run(t)

	whole := append(flags, "--deny", "cpu")
	args := append([]string{"build", model, "-o", exe, "--max-memory", fmt.Sprint("vulkan=", limit/2)}, whole...)
	out, err := exec.Command(e2etest.Path(), args...).CombinedOutput()
	var enough int64
	_, text, _ := strings.Cut(string(out), ": --max-memory vulkan=")
	if _, scanErr := fmt.Sscanf(text, "%d would be enough", &enough); scanErr != nil || !strings.Contains(fmt.Sprint(err), "exit status 3") || !strings.Contains(text, "or leave out --deny cpu, so that it takes the rest") {
		t.Fatalf("error %v\n%s", err, out)
	}
	e2etest.Build(t, model, append(whole, "--max-memory", fmt.Sprint("vulkan=", enough))...)
}

// TestTwoProcessesOnOneDevice runs two programs at the same time.
func TestTwoProcessesOnOneDevice(t *testing.T) {
	needVulkan(t)
	exe := vulkanMachines[0].MustBuildOn(t)
	refs := e2etest.AIDreamsReferences(t)
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() { e2etest.Executable(exe).Tells(t, refs[i]) })
	}
	both.Wait()
}

// TestVulkanNeedsADriver runs a program for a GPU where the loader finds no driver.
func TestVulkanNeedsADriver(t *testing.T) {
	needVulkan(t)
	exe := vulkanMachines[0].MustBuildOn(t)
	c := exec.Command(exe, "--prompt", "Once", "-n", "1")
	c.Env = append(c.Environ(), withoutDriver(t)...)
	out, err := c.CombinedOutput()
	if c.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "there is no Vulkan driver: install") {
		t.Errorf("error %v\n%s", err, out)
	}
}

// TestFallbackRunsWithoutADriver builds both plans into one program, with weights in it, after it or beside it, and
// runs it with a driver and without.
func TestFallbackRunsWithoutADriver(t *testing.T) {
	needVulkan(t)
	ref := e2etest.AIDreamsReferences(t)[0]
	weights := filepath.Join(t.TempDir(), "story.weights")
	for name, flags := range map[string][]string{"embedded": nil, "beside": {"--weights", weights}} {
		t.Run(name, func(t *testing.T) {
			if flags != nil {
				needtest.Slow(t, "e2e")
			}
			exe := vulkanMachines[0].MustBuildOn(t, append([]string{"--fallback", "cpu"}, flags...)...)
			p := e2etest.Executable(exe, flags...)
			p.Tells(t, ref)
			p.Env = withoutDriver(t)
			p.Tells(t, ref)
			says(t, exe, flags, nil, "runs on vulkan\n")
			says(t, exe, flags, p.Env, "runs on the processor alone, by the plan of --fallback: vulkan: there is no Vulkan driver: install")
		})
	}
}

// says runs a program in an environment and checks what it prints besides the text.
func says(t *testing.T, exe string, flags, env []string, want string) {
	t.Helper()
	cmd := exec.Command(exe, append([]string{"--prompt", "Once", "-n", "1"}, flags...)...)
	cmd.Env = append(cmd.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
		t.Errorf("error %v, want %s\n%s", err, want, out)
	}
}

// TestFallbackWithAppendedWeights has weights that are too large to be embedded.
func TestFallbackWithAppendedWeights(t *testing.T) {
	needtest.Slow(t, "e2e")
	needVulkan(t)
	exe := e2etest.Build(t, e2etest.RandomModel(t), "--targets", "vulkan,cpu", "--batch", "16", "--fallback", "cpu")
	e2etest.Command{Args: []string{exe, "verify"}}.Run(t)
	e2etest.Command{Args: []string{exe, "--prompt", "Once", "-n", "1"}}.Run(t)
	e2etest.Command{Args: []string{exe, "--prompt", "Once", "-n", "1"}, Env: withoutDriver(t)}.Run(t)
}

// withoutDriver returns an environment in which the loader finds no driver.
func withoutDriver(t *testing.T) []string {
	none := filepath.Join(t.TempDir(), "none.json")
	return []string{"VK_DRIVER_FILES=" + none, "VK_ICD_FILENAMES=" + none}
}

// TestNamesOfModulesAreNotThoseOfGPUPrograms builds a module whose functions and symbols are called what programs for
// GPUs declare.
func TestNamesOfModulesAreNotThoseOfGPUPrograms(t *testing.T) {
	dir := t.TempDir()
	module := filepath.Join(dir, "names.ggir")
	e2etest.WriteFile(t, module, []byte(`ggir 1
props imported
symbol gpus 1 8
symbol kernelAdd 1 8
func @kernels(%x: f32[gpus,4], %b: f32[4]) -> (y: f32[gpus,4]) {
  %y = add %x, %b
  return %y
}
func @gpus(%x: f32[kernelAdd,4], %b: f32[4]) -> (y: f32[kernelAdd,4]) {
  %y = add %x, %b
  return %y
}
`))
	out, err := exec.Command(e2etest.Path(), "build", module, "-o", filepath.Join(dir, "names"), "--targets", "vulkan,cpu", "--pin", ".*=vulkan").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestGPUsThatOnlyCopyAreDriven builds a module of which a GPU only copies a value, in memory of the host: there is
// neither a kernel nor memory of the GPU, and the program opens the driver all the same.
func TestGPUsThatOnlyCopyAreDriven(t *testing.T) {
	dir := t.TempDir()
	module := filepath.Join(dir, "copy.ggir")
	e2etest.WriteFile(t, module, []byte("ggir 1\nprops imported\nsymbol n 1 8\nfunc @main(%x: f32[n,4]) -> (y: f32[n,4]) {\n  %y = copy %x\n  return %y\n}\n"))
	out, err := exec.Command(e2etest.Path(), "build", module, "-o", filepath.Join(dir, "copies"), "--targets", "vulkan:space=host,cpu", "--rules", "ggml-2026").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestMemoryOfAGPUIsItsOwn has two targets in the space of one GPU.
func TestMemoryOfAGPUIsItsOwn(t *testing.T) {
	m := e2etest.Machine{Name: "", Targets: "target v like=vulkan\ntarget w like=vulkan\ntarget cpu like=cpu\n", Flags: []string{"--pin", "blk.[0-1].*=v", "--pin", "blk.[2-3].*=w"}}
	if _, refusal := m.BuildOn(t); !strings.Contains(refusal, "exit status 2") || !strings.Contains(refusal, "target w: the space vulkan is the memory of v, which no other device addresses: write space=w") {
		t.Error(refusal)
	}
}

// TestMeasuredTargetTellsTheSame measures the device, and runs the model by the file that ggmlc writes.
func TestMeasuredTargetTellsTheSame(t *testing.T) {
	needVulkan(t)
	file := filepath.Join(t.TempDir(), "gpu.target")
	if out, err := exec.Command(e2etest.Path(), "devices", "--measure", "--device", "vulkan", "-o", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	l, err := target.Parse(file, string(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	got, usual := l.Get("vulkan").Rates, target.Vulkan().Rates
	measured := 0
	for _, r := range [][2]float64{{got.FLOPs, usual.FLOPs}, {got.QuantOps, usual.QuantOps}, {got.Bandwidth, usual.Bandwidth}, {got.WorkerBW, usual.WorkerBW},
		{got.Launch, usual.Launch}, {got.Link, usual.Link}, {got.LinkOut, usual.LinkOut}, {got.LinkDelay, usual.LinkDelay}} {
		if r[0] > 0 && r[0] != r[1] {
			measured++
		}
	}
	if l.Names() != "vulkan, cpu" || measured < 6 { // some may equal the usual ones
		t.Errorf("%d rates are measured:\n%s", measured, text)
	}
	exe := e2etest.Machine{Targets: string(text), Flags: []string{"--deny", "cpu"}}.MustBuildOn(t)
	e2etest.Executable(exe).Tells(t, e2etest.AIDreamsReferences(t)[0])
}

// traced is an event of a program's profile.
type traced struct {
	Phase    string `json:"ph"`
	Pid, Tid int
	Name     string
	TS, Dur  float64
	Args     struct {
		Name, Kernel string
		Step         int
	}
}

func (e traced) end() float64 { return e.TS + e.Dur }

// TestProfileHasKernelsOnTheTimelineOfThreads runs a program that is built with --profile: its trace has the nodes of
// threads, the commands of the GPU's queue, and within each the kernels with their nodes.
func TestProfileHasKernelsOnTheTimelineOfThreads(t *testing.T) {
	needVulkan(t)
	p := e2etest.Executable(vulkanMachines[1].MustBuildOn(t, "--profile", "--pipeline", "2"))
	checkProfile(t, p, "vulkan", e2etest.AIDreamsReferences(t)[0])
}

// checkProfile runs a program with --profile and checks the times of its one GPU.
func checkProfile(t *testing.T, p e2etest.Program, gpu string, ref e2etest.Reference) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace.json")
	p.Flags = append(p.Flags, "--profile", file)
	p.Tells(t, ref)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var events []traced
	if err := json.Unmarshal(text, &events); err != nil {
		t.Fatal(err)
	}
	first, last := math.Inf(1), 0.0 // of the threads
	var command traced
	kernels, queue := 0, ""
	for _, e := range events {
		switch {
		case e.Phase == "M" && e.Pid == 1 && e.Name == "thread_name":
			queue = e.Args.Name
		case e.Phase == "X" && e.Pid == 0:
			first, last = min(first, e.TS), max(last, e.end())
		case e.Phase == "X" && e.Args.Kernel == "":
			command = e
		case e.Phase == "X":
			kernels++
			if e.Args.Step != command.Args.Step || e.TS < command.TS-0.01 || e.end() > command.end()+0.01 || !strings.HasPrefix(e.Name, "%") || !strings.Contains(e.Args.Kernel, " -> ") {
				t.Fatalf("kernel %+v of %+v", e, command)
			}
		}
	}
	if queue != gpu || kernels < 100 || !strings.Contains(string(text), ` blk.*.attn","ts":`) {
		t.Errorf("queue %q, %d kernels", queue, kernels)
	}
	for _, e := range events {
		if e.Phase == "X" && e.Pid == 1 && (e.TS < first-1e5 || e.end() > last+1e5) {
			t.Fatalf("%+v is not among the steps of the threads, from %v to %v", e, first, last)
		}
	}
}
