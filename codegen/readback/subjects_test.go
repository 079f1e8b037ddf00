package readback_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/codegen/readback"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
)

// subject is an emitted package with the plan that it is checked against.
type subject struct {
	name    string
	m       *ir.Module
	targets *target.List
	files   []readback.File
	facts   readback.Facts
}

// check reads the subject back with other files.
func (s *subject) check(files []readback.File) error {
	return readback.Check(s.m, s.targets, files, s.facts)
}

// setting is how the module of a subject is compiled and emitted.
type setting struct {
	targets  string // a list of names, or a text of lines; empty: the CPU alone
	pins     string // separated by blanks
	rules    string
	pipeline int
	disable  []string
	pkg      string // main where empty
	profile  bool
	observe  string // expression; empty for none
	cpu      []string
	weights  codegen.Where
}

// emit compiles a module and returns its package. Modules that the setting cannot be used
// for give an error.
func emit(ctx context.Context, name string, m *ir.Module, tokenizer []byte, s setting) (*subject, error) {
	targets, err := targetsOf(s.targets)
	if err != nil {
		return nil, err
	}
	o := pass.Options{Pipeline: s.pipeline, Rules: s.rules, Disable: s.disable}
	if s.observe != "" {
		o.Observe = regexp.MustCompile(s.observe)
	}
	for _, text := range strings.Fields(s.pins) {
		pin, err := pass.ParsePin(text)
		if err != nil {
			return nil, err
		}
		o.Pins = append(o.Pins, pin)
	}
	if _, err := passes.Run(ctx, m, passes.RunOptions{Targets: targets, Options: o}); err != nil {
		return nil, err
	}
	e := codegen.Options{
		Package: s.pkg, Compiler: "ggmlc test", Name: "model", PlanID: "0123", Tokenizer: tokenizer,
		Weights: s.weights, WeightsFile: "weights.ggw", WeightsHash: [32]byte{1, 2, 3}, CPU: s.cpu, Profile: s.profile, Targets: targets,
	}
	if e.Package == "" {
		e.Package = "main"
	}
	p, err := codegen.Emit(m, e)
	if err != nil {
		return nil, err
	}
	sub := &subject{name: name, m: m, targets: targets, facts: readback.Facts{
		Package: e.Package, Compiler: e.Compiler, Name: e.Name, PlanID: e.PlanID, CPU: e.CPU, Profile: e.Profile, Tokenizer: tokenizer,
		WeightsSize: codegen.WeightsBytes(m), WeightsHash: fmt.Sprintf("%x", e.WeightsHash), Embedded: e.Weights == codegen.Embed,
	}}
	if e.Weights == codegen.File {
		sub.facts.External = e.WeightsFile
	}
	for _, f := range p.Files {
		sub.files = append(sub.files, readback.File(f))
	}
	return sub, nil
}

func targetsOf(text string) (*target.List, error) {
	switch {
	case text == "":
		return target.NewList(target.CPU())
	case strings.HasPrefix(text, "target "):
		return target.Parse("targets", text)
	}
	return target.Select(text)
}

// Machines of the subjects.
const (
	twoFakes = "fake:0,fake:1:queues=2,cpu"
	sharing  = "target d0 like=fake space=host queues=0 events=false\ntarget d1 like=fake space=va queues=1\ntarget cpu like=cpu\n"
	chunked  = "target fake:0 like=fake space=fake:0 maxalloc=140kB\ntarget fake:1 like=fake space=fake:1 maxalloc=140kB\ntarget cpu like=cpu\n"
	noEvents = "target d0 like=fake space=va events=false\ntarget d1 like=fake space=vb queues=2\ntarget cpu like=cpu\n"
	tuned    = "target cpu like=cpu threads=2\n"
)

const llamaPins = `blk\.[01]\.=fake:0 blk\.[23]\.=fake:1`

// llamas are the settings of the llama of shared/data.
var llamas = map[string]setting{
	"cpu":               {},
	"cpu package":       {pkg: "stories", weights: codegen.File},
	"cpu profile":       {profile: true, cpu: []string{"generic", "avx2"}},
	"cpu unrolled":      {disable: []string{"roll"}, weights: codegen.Append},
	"two fakes":         {targets: twoFakes, pins: llamaPins, rules: "ggml-2026", pipeline: 2},
	"two fakes cost":    {targets: twoFakes, rules: "cost", pipeline: 3, profile: true},
	"shared, no queues": {targets: sharing, rules: "ggml-2026", pins: `blk\.1\..*ffn_down=d1`},
	"chunks":            {targets: chunked, rules: "ggml-2026", pipeline: 3, pins: llamaPins},
	"gpu":               {targets: "vulkan,cpu", pins: `blk\.[0-2]\.=vulkan blk\.3\.=cpu`, pipeline: 2, rules: "ggml-2026"},
	"simulated GPU":     {targets: "gpusim,cpu", pins: `blk\.[0-2]\.=gpusim`, pipeline: 2, rules: "ggml-2026"},
	"groups":            {targets: "cpu:cores=0-2,cpu:cores=3-4,cpu:cores=5", pins: `blk\.[01]\.=cpu:0 (blk\.[34]\.|output)=cpu:1`, pipeline: 2},
	"groups, profile":   {targets: "cpu:cores=0-2:space=host,cpu:cores=5", pins: `blk\.[01]\.=cpu:0`, pipeline: 1, profile: true},
	"no events":         {targets: noEvents, rules: "ggml-2026", pipeline: 2, pins: `blk\.[01]\.=d0 blk\.[23]\.=d1`},
}

func llama(t testing.TB, name string) *subject {
	t.Helper()
	md, err := driver.Load(t.Context(), "../../../shared/data/aidreams260K.gguf", driver.LoadOptions{Context: 128, Batch: 16, KV: kvOf(name)})
	if err != nil {
		t.Skipf("skip: %v", err)
	}
	defer md.Close()
	s, err := emit(t.Context(), "llama "+name, md.Module, md.Tokenizer, llamas[name])
	if err != nil {
		t.Fatalf("llama %s: %v", name, err)
	}
	return s
}

// kvOf varies the caches of llamas.
func kvOf(name string) dtype.DType {
	if strings.HasPrefix(name, "cpu") {
		return dtype.Invalid
	}
	return dtype.F32
}

// selections has inputs that select among rows of symbols, several times and in part.
const selections = `ggir 1
module "selections"
after import
props imported
symbol n 1 100
symbol m 1 50
state "s" : f32[2,1,16,8]
func @f(%y: f32[m,8], %i: i32[m], %j: i32[m], %k: i32[2*m], %t: f32[10,8], %u: f32[2*n+1,8], %x: f32[m,n], %slot: i32[m], %none: i32[m]) -> (z: f32[m,8], g: f32[m,8], h: f32[m,8], taken: f32[m,1], i: i32[m], none: i32[m]) {
  %part = slice %k {axis=0, start=0, len=m}
  %own = copy %part
  %g = gather %u, %own
  %h = gather %u, %j
  %column = reshape %i {shape=[m,1]}
  %taken = take %x, %column
  %s = state "s"
  %rows = reshape %y {shape=[m,1,8]}
  %w = state_write %s, %rows, %slot, %i
  %z = gather %t, %i
  %ci = copy %i
  %cn = copy %none
  return %z, %g, %h, %taken, %ci, %cn
}
`

// texts are modules whose code has what the llama's does not.
var texts = []struct {
	name, text string
	setting
}{
	{"experts", irtest.Experts, setting{pkg: "experts"}},
	{"experts profile", irtest.Experts, setting{profile: true}},
	{"picked", irtest.FarExperts, setting{targets: "fake:linkdelay=1e-12,cpu", pins: "y=fake", pipeline: 2}},
	{"selections", selections, setting{pkg: "selections"}},
	{"tails", irtest.Tails, setting{}},
	{"tails profile", irtest.Tails, setting{profile: true, pkg: "tails"}},
	{"units of tails", irtest.HeadTails, setting{}},
	{"moved tails", irtest.MovedTails, setting{}},
	{"segments", irtest.LongAttention, setting{pkg: "segments"}},
	{"iterations", iterated(40), setting{}},
	{"iterations on a fake", iterated(40), setting{targets: twoFakes, pins: ".*=fake:1", pipeline: 2}},
	{"odd", odd, setting{pkg: "odd"}},
	{"odd on a GPU", odd, setting{targets: "vulkan,cpu", pins: ".*=vulkan"}},
	{"chained", chained, setting{targets: "vulkan,cpu", pins: ".*=vulkan"}},
	{"iterations on a GPU", iterated(40), setting{targets: "vulkan,cpu", pins: ".*=vulkan", pipeline: 2}},
	{"odd on a fake", odd, setting{targets: twoFakes, pins: ".*=fake:0", profile: true}},
}

// iterated is rolled into a repeat without weights of its own, of more iterations than are read one
// by one.
func iterated(count int) string {
	var b strings.Builder
	b.WriteString("symbol n 1 40\nfunc @f(%x0: f32[n,64]) -> (y: f32[n,64]) {\n")
	for i := range count {
		fmt.Fprintf(&b, "  %%s%d = softmax %%x%d\n  %%x%d = add %%s%d, %%x%d\n", i, i, i+1, i, i)
	}
	fmt.Fprintf(&b, "  return %%x%d\n}\n", count)
	return b.String()
}

// odd has views, scalars, constants that are hard to write, and dtypes.
const odd = `symbol n 1 40
symbol k 2 9
weight "row" : f32[48]
func @f(%x: f32[n,48], %z: f32[n,4,k,8]) -> (a: f32[n,48], b: f32[n,24], c: f16[n,48], d: f32[n,8,4,k], e: f32[n,1]) {
  %r = weight "row"
  %s = scale %x {scale=-1e-30, bias=0.1}
  %m = mul %s, %r
  %t = add %m, %x
  %h = slice %t {axis=1, start=24, len=24}
  %b = gelu %h
  %c = cast %t {to=f16}
  %p = permute %z {perm=[0,3,1,2]}
  %d = exp %p
  %e = reduce_max %t
  return %t, %b, %c, %d, %e
}
`

// textSubject returns the i-th of the texts.
func textSubject(t testing.TB, i int) *subject {
	t.Helper()
	return subjectOf(t, texts[i].name, texts[i].text, texts[i].setting)
}

// onGPU returns the text odd on a GPU.
func onGPU(t testing.TB) *subject {
	t.Helper()
	return subjectOf(t, "odd on a GPU", odd, setting{targets: "gpusim,cpu", pins: ".*=gpusim", disable: []string{"chain"}})
}

// chained is computed by one kernel on GPUs.
const chained = `symbol n 1 40
func @f(%x: f32[n,48], %z: f32[n,48]) -> (y: f32[n,48]) {
  %s = scale %x {scale=-1e-30, bias=0.1}
  %m = sub %s, %z
  %t = gelu %m
  %y = mul %t, %s
  return %y
}
`

func subjectOf(t testing.TB, name, text string, set setting) *subject {
	t.Helper()
	m, err := ir.Parse(name+".ggir", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := emit(t.Context(), name, m, nil, set)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

// goldens returns the modules of tests/codegen/testdata, each as a package and as a program
// with a profile.
func goldens(t testing.TB) []*subject {
	t.Helper()
	paths, err := filepath.Glob("../../tests/codegen/testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d goldens, error %v", len(paths), err)
	}
	var list []*subject
	for _, path := range paths {
		sections := sectionsOf(t, path)
		for _, s := range []setting{{pkg: "tiny"}, {profile: true}} {
			s.targets, s.pins = sections["targets"], sections["pins"]
			if s.targets != "" {
				s.pipeline = 2
			}
			m, err := ir.Parse("in.ggir", []byte(sections["in.ggir"]))
			if err != nil {
				t.Fatal(err)
			}
			sub, err := emit(t.Context(), fmt.Sprintf("%s %s", strings.TrimSuffix(filepath.Base(path), ".txtar"), s.pkg), m, nil, s)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			list = append(list, sub)
		}
	}
	return list
}

// randoms returns random modules, on the CPU or spread over a machine.
func randoms(t testing.TB, count int) []*subject {
	t.Helper()
	machines := []string{"", twoFakes, noEvents, sharing}
	var list []*subject
	for seed := uint64(0); len(list) < count && seed < 4000; seed++ {
		p, err := irtest.Random(seed, 12)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		s := setting{targets: machines[seed%uint64(len(machines))], pipeline: 1 + rng.IntN(3)}
		if seed%3 == 0 {
			s.pkg = "random"
		}
		targets, err := targetsOf(s.targets)
		if err != nil {
			t.Fatal(err)
		}
		s.pins = randomPins(p.Module, targets, rng)
		if sub, err := emit(t.Context(), fmt.Sprint("random ", seed), p.Module, nil, s); err == nil {
			list = append(list, sub)
		} else if strings.Contains(err.Error(), "differs from its plan") {
			t.Errorf("random %d: %v", seed, err)
		}
	}
	return list
}

// randomPins puts nodes on backends, but for those of one name in several functions and for
// what writes states.
func randomPins(m *ir.Module, targets *target.List, rng *rand.Rand) string {
	var pins []string
	seen := make(map[string]bool)
	for _, f := range m.Funcs {
		for _, n := range f.Nodes {
			id := ""
			if r := n.Result(); r != nil {
				id = r.Name()
			}
			skip := id == "" || seen[id] || n.Is(ir.Leaf) || n.Is(ir.View) || n.Is(ir.Alias)
			seen[id] = true
			if !skip {
				pins = append(pins, "^"+regexp.QuoteMeta(id)+"$="+targets.All()[rng.IntN(len(targets.All()))].Name)
			}
		}
	}
	return strings.Join(slices.Compact(pins), " ")
}

// opSubject has the sample cases of all ops that the machine runs, a function for each.
func opSubjects(t testing.TB, s setting) []*subject {
	t.Helper()
	var list []*subject
	for op := range ir.Ops {
		if op.Info().Cases == nil {
			continue
		}
		i := 0
		for c := range op.Info().Cases {
			i++
			call, err := irtest.Case(op, c, 1)
			if err != nil {
				t.Fatal(err)
			}
			sub, err := emit(t.Context(), fmt.Sprintf("%v %d", op, i), call.Module, nil, s)
			if err == nil {
				list = append(list, sub)
			} else if strings.Contains(err.Error(), "differs from its plan") {
				t.Errorf("%v: case %q: %v", op, c.Name, err)
			}
		}
	}
	return list
}
