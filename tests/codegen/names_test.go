package codegen_test

import (
	"fmt"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
)

// takenNames are names that emitted code has to change: names of Go, of packages, and of emitted
// files.
func takenNames() []string {
	names := types.Universe.Names()
	for tok := token.BREAK; tok <= token.VAR; tok++ {
		names = append(names, tok.String())
	}
	names = append(names, "context", "cpu", "dtype", "embed", "fake", "grammar", "fs", "io", "iter", "jsonschema", "maps", "math", "runtime", "sample", "slices", "slog", "tile", "time", "token", "unsafe", "jen",
		"metrics", "messagesOf", "summaryOf", "tokensOf", "ownGrammar", "Runtime", "Plan", "Summary", "Choice", "Sampling", "Tokenizer",
		"init", "main", "program", "simulated", "planText", "planJSON", "weights", "tokenizer", "offsets",
		"w", "a", "l", "m", "s", "io", "x", "t", "e", "i", "u", "q", "slot", "mem", "mem0", "a0", "k0_10", "err", "ctx", "in", "out", "o", "n",
		"Open", "Close", "Threads", "NewSession", "Session", "Model", "Options", "GenerateOptions", "Token", "Generate", "Prefill", "Decode",
		"Len", "Truncate", "Reset", "Call", "open", "model", "session", "loops", "loopsRound", "loopsRound2", "loopsInputs", "Loops", "X", "_", "__", "_0", "lenStep", "lenSize")
	slices.Sort(names)
	return slices.Compact(names)
}

// bodyOfLoops is the name that the body of the loop in @loops gets.
const bodyOfLoops = "loopsRound"

// maxSymbols is how many symbols a program may have.
const maxSymbols = 16

// TestTakenNamesCompile gives functions, arrays, symbols and packages names with another meaning
// in Go, and compiles what is emitted. Each package has all functions, and as many of the
// names for symbols as a program may have.
func TestTakenNamesCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("go vet takes seconds")
	}
	root, names := t.TempDir(), takenNames()
	packages := []string{"main", "init", "nil", "string", "error", "context", "runtime", "cpu", "program", "tiny", "unsafe", "X"}
	chunks := slices.Collect(slices.Chunk(symbolsOf(names), maxSymbols))
	if len(chunks) > len(packages) {
		t.Fatalf("%d packages are needed, %d have names", len(chunks), len(packages))
	}
	for i, symbols := range chunks {
		m, err := ir.Parse("names.ggir", []byte(moduleOf(names, symbols)))
		if err != nil {
			t.Fatal(err)
		}
		writePackage(t, filepath.Join(root, fmt.Sprint("p", i)), emitWith(t, m, packages[i], passes.RunOptions{}), m)
	}
	vet(t, root)
	cmd := exec.Command("go", "build", "-o", filepath.Join(root, "program"), "./p0")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go build: %v\n%s", err, out)
	}
}

// symbolsOf returns those names that a text can give to symbols.
func symbolsOf(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, err := ir.Parse("symbol.ggir", []byte("ggir 1\nmodule \"m\"\nsymbol "+name+" 1 4\n"))
		return err != nil
	})
}

// moduleOf returns a module with a function of each name, whose sizes are the symbols in turn,
// and one with a loop.
func moduleOf(names, symbols []string) string {
	var b strings.Builder
	b.WriteString("ggir 1\nmodule \"names\"\nafter import\nprops imported\n")
	for _, s := range symbols {
		fmt.Fprintf(&b, "symbol %s 1 64\n", s)
	}
	for i := range loopLength {
		fmt.Fprintf(&b, "weight \"w%d\" : f32[64,64]\n", i)
	}
	for i, name := range names {
		size := symbols[i%len(symbols)]
		switch {
		case name == "loops":
			writeLoop(&b, symbols[max(0, slices.Index(symbols, bodyOfLoops))])
			continue
		case strings.HasPrefix(name, bodyOfLoops):
			continue // for symbols alone: the body has this name
		}
		fmt.Fprintf(&b, "func @%s(%%%s: f32[%s,64], %%other: bool[%s]) -> (%s: f32[64,%s]) {\n", name, name, size, size, name, size)
		fmt.Fprintf(&b, "  %%t.1 = permute %%%s {perm=[1, 0]} : f32[64,%s strides 1,64]\n  %%t.2 = copy %%t.1 : f32[64,%s]\n  %%t.3 = relu %%t.2 : f32[64,%s]\n  return %%t.3\n}\n", name, size, size, size)
	}
	return b.String()
}

// loopLength is how many equal layers become a loop.
const loopLength = 12

func writeLoop(b *strings.Builder, size string) {
	fmt.Fprintf(b, "func @loops(%%x: f32[%s,64]) -> (y: f32[%s,64]) {\n", size, size)
	last := "x"
	for i := range loopLength {
		fmt.Fprintf(b, "  %%w%d = weight \"w%d\" : f32[64,64]\n  %%m%d = matmul %%%s, %%w%d : f32[%s,64]\n  %%x%d = relu %%m%d : f32[%s,64]\n",
			i, i, i, last, i, size, i, i, size)
		last = fmt.Sprint("x", i)
	}
	fmt.Fprintf(b, "  return %%%s\n}\n", last)
}

// TestPackageNamesCompile has names that no Go package can have.
func TestPackageNamesCompile(t *testing.T) {
	for _, name := range []string{"", "_", "func", "a b", "1st", "x\nfunc init() {}", "documentation"} {
		err := codegen.CheckPackageName(name)
		if err == nil {
			t.Errorf("%q is taken for a package's name", name)
			continue
		}
		m, parseErr := ir.Parse("hostile.ggir", []byte(hostileTemplate))
		if parseErr != nil {
			t.Fatal(parseErr)
		}
		o := hostileOptions(t)
		renameAll(m, harmless)
		if err := compileWith(m, o); err != nil {
			t.Fatal(err)
		}
		if _, err := codegen.Emit(m, codegen.Options{Package: name, Targets: o.Targets}); err == nil || !strings.Contains(err.Error(), "a Go package name") && !strings.Contains(err.Error(), "choose another") {
			t.Errorf("Emit as package %q: %v", name, err)
		}
	}
	if err := codegen.CheckPackageName("story"); err != nil {
		t.Error(err)
	}
}
