// Package tests holds tests of the whole repository.
package tests

import (
	"os/exec"
	"path"
	"strings"
	"testing"
)

const module = "github.com/ggmlc/ggmlc"

// layers lists which packages may import which others by direct imports of non-test files. A pattern that ends in /...
// covers a folder. A package without a line is an error, so that new packages are added here.
var layers = []struct {
	pkg   string
	may   []string // packages of this module
	other []string // modules besides the standard library
}{
	{".", nil, nil},
	{"ir/dtype", nil, nil},
	{"ir", []string{"ir/dtype"}, nil},
	{"ir/spell", nil, nil},
	{"ir/gen", []string{"ir"}, nil},
	{"ir/eval", []string{"ir", "ir/dtype"}, nil},
	{"ir/opcase", []string{"ir", "ir/dtype", "ir/eval"}, nil},
	{"ir/irtest", []string{"ir", "ir/dtype", "ir/eval", "ir/opcase"}, []string{"golang.org/x/tools", "github.com/google/go-cmp"}},
	{"passes/mem", nil, nil},
	{"passes/placement", nil, nil},
	{"kernels/cpu/tile", []string{"ir/dtype"}, nil},
	{"kernels/cpu", []string{"ir/dtype", "kernels/cpu/tile"}, nil},
	{"kernels/gpu/kir", nil, nil},
	{"kernels/gpu/kirtest", []string{"kernels/gpu/kir"}, nil},
	{"kernels/gpu/interp", []string{"ir/dtype", "kernels/gpu/kir"}, nil},
	{"kernels/gpu/spirv", []string{"kernels/gpu/kir"}, nil},
	{"kernels/gpu/ptx", []string{"kernels/gpu/kir"}, nil},
	{"kernels/gpu", []string{"ir", "ir/dtype", "kernels/gpu/kir"}, nil},
	{"kernels/gpu/gputest", []string{"ir", "ir/dtype", "ir/eval", "ir/opcase", "kernels/gpu", "kernels/gpu/interp", "kernels/gpu/kir", "kernels/gpu/kirtest"}, nil},
	{"kernels/gpu/ondevice", []string{"kernels/gpu", "kernels/gpu/kir", "runtime", "runtime/gpu"}, nil},
	{"kernels/kerneltest", []string{"ir/dtype", "kernels/cpu", "kernels/cpu/tile"}, nil},
	{"kernels/gpu/measure", []string{"ir", "ir/dtype", "kernels/gpu", "kernels/gpu/ondevice", "passes/target"}, nil},
	{"passes/target", []string{"ir", "ir/dtype", "ir/spell", "kernels/cpu/tile"}, nil},
	{"passes/check/cover", nil, nil},
	{"passes/check", []string{"ir", "ir/dtype", "passes/check/cover", "passes/target"}, nil},
	// The passes, lower ones first.
	{"passes/pass", []string{"ir", "passes/target"}, nil},
	{"passes/flow", []string{"ir", "ir/dtype", "passes/check", "passes/pass", "passes/target"}, nil},
	{"passes/rewrite", []string{"ir", "passes/flow", "passes/pass", "passes/target"}, nil},
	{"passes/simplify", []string{"ir", "ir/dtype", "ir/eval", "passes/flow", "passes/pass", "passes/rewrite", "passes/target"}, nil},
	{"passes/assign", []string{"ir", "ir/dtype", "passes/flow", "passes/pass", "passes/placement", "passes/rewrite", "passes/simplify", "passes/target"}, nil},
	{"passes/pack", []string{"ir", "ir/dtype", "passes/flow", "passes/pass", "passes/rewrite", "passes/simplify", "passes/target"}, nil},
	{"passes/copies", []string{"ir", "passes/assign", "passes/flow", "passes/pass", "passes/rewrite", "passes/target"}, nil},
	{"passes/pipeline", []string{"ir", "passes/flow", "passes/pass", "passes/rewrite", "passes/target"}, nil},
	{"passes/roll", []string{"ir", "ir/dtype", "passes/flow", "passes/pass", "passes/rewrite"}, nil},
	{"passes/order", []string{"ir", "passes/flow", "passes/pass", "passes/rewrite", "passes/target"}, nil},
	{"passes/partition", []string{"ir", "ir/dtype", "passes/flow", "passes/pass", "passes/rewrite", "passes/target"}, nil},
	{"passes/shard/foreign", []string{"ir", "ir/dtype"}, nil},
	{"passes/shard/foreign/foreigntest", []string{"ir", "ir/dtype", "passes/shard/foreign"}, nil},
	{"passes/shard/ggml", []string{"ir", "ir/dtype", "passes/shard/foreign"}, nil},
	{"passes/shard/lower", []string{"ir", "ir/dtype", "passes/shard/foreign"}, nil},
	{"passes/shard", []string{"ir", "ir/dtype", "passes/check/group", "passes/check/parts", "passes/flow", "passes/pass", "passes/shard/foreign", "passes/shard/ggml", "passes/shard/lower", "passes/target"}, nil},
	{"passes/check/parts", []string{"ir"}, nil},
	{"passes/check/group", []string{"ir", "passes/shard/foreign"}, nil},
	{"passes/plan", []string{"ir", "passes/assign", "passes/flow", "passes/mem", "passes/partition", "passes/pass", "passes/pipeline", "passes/target"}, nil},
	{"passes", []string{"ir", "ir/spell", "passes/..."}, []string{"gonum.org/v1/gonum"}},
	{"passes/explain", []string{"ir", "ir/dtype", "ir/spell", "passes", "passes/assign", "passes/copies", "passes/flow", "passes/pack", "passes/partition", "passes/pass", "passes/plan", "passes/shard", "passes/target"}, nil},
	{"passes/diff", []string{"ir", "passes/explain", "passes/flow", "passes/pass"}, nil},
	{"passes/view", []string{"ir", "passes", "passes/diff", "passes/explain", "passes/flow", "passes/pass", "passes/plan", "runtime/printable"}, nil},
	{"passes/passtest", []string{"ir", "ir/dtype", "ir/irtest", "ir/eval", "passes", "passes/pass", "passes/target"}, []string{"golang.org/x/tools", "github.com/google/go-cmp"}},
	{"runtime/token", nil, nil},
	{"runtime/sample", nil, nil},
	{"runtime/grammar", nil, nil},
	{"runtime/grammar/jsonschema", nil, nil},
	{"runtime/jinja", nil, nil},
	{"runtime/lineedit", nil, nil},
	{"runtime/printable", nil, nil},
	{"runtime", []string{"ir/dtype", "kernels/cpu", "kernels/cpu/tile", "runtime/token", "runtime/sample", "runtime/grammar", "runtime/grammar/jsonschema", "runtime/jinja", "runtime/lineedit", "runtime/printable"}, nil},
	{"runtime/fake", []string{"runtime"}, nil},
	{"runtime/gpu", []string{"runtime"}, nil},
	{"runtime/gpusim", []string{"kernels/gpu/interp", "kernels/gpu/kir", "runtime", "runtime/gpu"}, nil},
	{"runtime/library", nil, []string{"github.com/ebitengine/purego"}},
	{"runtime/cuda", []string{"runtime", "runtime/gpu", "runtime/library"}, nil},
	{"runtime/vulkan", []string{"runtime", "runtime/gpu", "runtime/library"}, nil},
	{"frontend/gguf", []string{"ir/dtype", "runtime/printable"}, nil},
	{"frontend/tokenizer", []string{"frontend/gguf", "ir/spell", "runtime/token"}, nil},
	{"frontend/arch", []string{"frontend/gguf", "ir", "ir/dtype", "ir/spell", "runtime/printable"}, nil},
	{"frontend/arch/archtest", []string{"frontend/gguf", "ir", "ir/dtype", "ir/eval"}, nil},
	// codegen writes the trailer of weights and runtime reads it. As its format is defined in one place, codegen may
	// import runtime.
	// What both have in common with backends of other modules is data that these modules register.
	{"codegen/backend", []string{".", "ir", "ir/dtype", "passes/target", "runtime"}, nil},
	{"codegen/backend/backendtest", []string{"codegen/backend", "codegen/casetest", "ir", "ir/eval", "ir/opcase", "passes", "passes/pass", "passes/target"}, nil},
	{"codegen/casetest", []string{"codegen", "ir", "ir/dtype", "ir/eval", "ir/opcase", "passes/target", "runtime"}, nil},
	{"codegen", []string{".", "codegen/backend", "codegen/model", "codegen/readback", "ir", "ir/dtype", "kernels/cpu/tile", "kernels/gpu", "kernels/gpu/kir", "kernels/gpu/ptx", "kernels/gpu/spirv", "passes/target", "runtime", "runtime/printable"}, []string{"github.com/dave/jennifer", "golang.org/x/tools"}},
	// The source of generated packages' API imports what they import.
	{"codegen/model", []string{"runtime", "runtime/grammar", "runtime/grammar/jsonschema", "runtime/sample", "runtime/token"}, nil},
	// The reader of emitted code shares nothing with its writer, nor with the passes, but the text of that API.
	{"codegen/readback", []string{"codegen/backend", "codegen/model", "ir", "ir/dtype", "kernels/cpu/tile", "passes/target"}, nil},
	{"codegen/driver", []string{"codegen", "codegen/backend", "codegen/readback", "frontend/...", "ir", "ir/dtype", "passes", "passes/check", "passes/pass", "passes/target", "runtime/grammar", "runtime/grammar/jsonschema", "runtime/jinja", "runtime/token"}, []string{"github.com/rogpeppe/go-internal"}},
	{"codegen/compare", []string{"codegen", "ir", "ir/dtype", "ir/eval", "passes/flow", "runtime"}, nil},
	{"codegen/tune", []string{"ir", "ir/dtype", "kernels/cpu", "kernels/cpu/tile", "passes/target", "runtime"}, nil},
	{"cmd/ggmlc/demo", nil, nil},
	{"cmd/ggmlc/devices", []string{"kernels/cpu", "kernels/gpu", "kernels/gpu/gputest", "kernels/gpu/kir", "kernels/gpu/measure", "kernels/gpu/ondevice", "kernels/gpu/ptx", "kernels/gpu/spirv", "passes/target", "runtime/cuda", "runtime/printable", "runtime/vulkan"}, nil},
	// The executable of ggmlc is static: it builds the program that calls drivers, and does not import it.
	{"cmd/ggmlc", []string{"cmd"}, nil},
	{"cmd", []string{"cmd/ggmlc/demo", "codegen/...", "frontend/...", "ir/...", "kernels/...", "passes/...", "runtime", "runtime/grammar", "runtime/printable", "runtime/token"},
		[]string{"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/schollz/progressbar", "golang.org/x/term", "gonum.org/v1/gonum"}},
	{"examples/mlp", []string{"ir", "ir/dtype"}, nil},
	{"examples/spread", nil, nil},
	{"docs/tables", []string{"frontend/arch", "frontend/arch/archtest", "frontend/gguf", "ir", "ir/dtype", "ir/opcase", "kernels/cpu/tile", "passes", "passes/pass", "passes/passtest", "passes/target"}, []string{"github.com/google/go-cmp"}},
	{"tests/...", []string{"./..."}, []string{"golang.org/x/tools", "github.com/google/go-cmp", "github.com/rogpeppe/go-internal"}},
}

func TestImportsFollowTheLayers(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		pkg := local(words[0])
		rule := -1
		for i, l := range layers {
			if covers(l.pkg, pkg) {
				rule = i
			}
		}
		if rule < 0 {
			t.Errorf("%s has no line in the table of layers", pkg)
			continue
		}
		for _, imp := range words[1:] {
			if !allowed(rule, imp) {
				t.Errorf("%s imports %s, which its line in the table of layers does not allow", pkg, imp)
			}
		}
	}
}

// TestCPUProgramsLinkNoGPU looks at all packages that programs for the CPU and for simulated devices link.
func TestCPUProgramsLinkNoGPU(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"/runtime", module+"/runtime/fake", module+"/kernels/cpu", module+"/ir/dtype").Output()
	if err != nil || !strings.Contains(string(out), module+"/runtime/fake\n") {
		t.Fatalf("error %v, output %s", err, out)
	}
	for pkg := range strings.Lines(string(out)) {
		pkg = strings.TrimSpace(pkg)
		foreign := strings.Contains(strings.SplitN(pkg, "/", 2)[0], ".") && local(pkg) == pkg
		if foreign || strings.Contains(pkg, "/gpu") || pkg == module+"/runtime/library" || pkg == module+"/runtime/cuda" || pkg == module+"/runtime/vulkan" {
			t.Errorf("a program for the CPU links %s", pkg)
		}
	}
}

// TestGGMLCCallsNoDriver looks at all packages that ggmlc links. With purego among them it would need the dynamic
// loader of glibc.
func TestGGMLCCallsNoDriver(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"/cmd/ggmlc").Output()
	if err != nil || !strings.Contains(string(out), module+"/codegen\n") {
		t.Fatalf("error %v, output %s", err, out)
	}
	const purego = "github.com/ebitengine/purego"
	for pkg := range strings.Lines(string(out)) {
		switch pkg = strings.TrimSpace(pkg); pkg {
		case purego, module + "/runtime/library", module + "/runtime/cuda", module + "/runtime/vulkan":
			t.Errorf("ggmlc links %s", pkg)
		}
	}
}

// local returns the path of a package within the module; "." is the root.
func local(importPath string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}

func covers(pattern, pkg string) bool {
	if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
		return dir == "." || pkg == dir || strings.HasPrefix(pkg, dir+"/")
	}
	return pattern == pkg
}

func allowed(rule int, imp string) bool {
	if !strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") {
		return true // standard library
	}
	if imp == module || strings.HasPrefix(imp, module+"/") {
		for _, p := range layers[rule].may {
			if covers(p, local(imp)) {
				return true
			}
		}
		return false
	}
	for _, m := range layers[rule].other {
		if imp == m || strings.HasPrefix(imp, m+"/") {
			return true
		}
	}
	return false
}

func TestPatternsCoverTheirFolders(t *testing.T) {
	for _, c := range []struct {
		pattern, pkg string
		want         bool
	}{
		{"ir", "ir", true}, {"ir", "ir/eval", false}, {"ir/...", "ir/eval", true}, {"ir/...", "irx", false}, {"./...", "a/b", true},
	} {
		if got := covers(c.pattern, path.Clean(c.pkg)); got != c.want {
			t.Errorf("covers(%q, %q) = %v", c.pattern, c.pkg, got)
		}
	}
}
