package explain

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestAlternativesAreOptionsOfTheModel demands that only options are offered with which the model can be compiled.
func TestAlternativesAreOptionsOfTheModel(t *testing.T) {
	const kv = "--kv q8_0"
	for _, tt := range []struct {
		name, cache string
		head        int
		smaller     bool
	}{
		{"heads of blocks", "f16", 32, true},
		{"heads of half a block", "f16", 16, false},
		{"a cache in blocks", "q8_0", 32, false},
	} {
		l := irtest.SmallLlama
		l.Head = tt.head
		m := irtest.Parse(t, strings.ReplaceAll(l.Text(), ": f16[1,", ": "+tt.cache+"[1,"))
		asked := 0
		for _, n := range m.Funcs[0].Nodes {
			if n.Op != ir.OpAttention {
				continue
			}
			asked++
			if got := cheaperWith(n); !strings.Contains(got, "--ctx") || strings.Contains(got, kv) != tt.smaller {
				t.Errorf("%s: %s", tt.name, got)
			}
		}
		if asked != l.Layers {
			t.Errorf("%s: %d layers", tt.name, asked)
		}
	}
	m := irtest.Parse(t, "weight \"a\" : f32[32,40]\nweight \"b\" : f32[40,32]\nfunc @f(%x: f32[1,40]) -> f32[1,40] {\n"+
		"  %a = weight \"a\" : f32[32,40]\n  %b = weight \"b\" : f32[40,32]\n  %y = matmul %x, %a\n  %z = matmul %y, %b\n  return %z\n}\n")
	for i, want := range []string{"", "--quantize Q8_0: it reads weights of f32"} {
		if got := cheaperWith(m.Funcs[0].Nodes[2+i]); got != want {
			t.Errorf("%v: %q, want %q", m.Funcs[0].Nodes[2+i], got, want)
		}
	}
}

// TestFewerThreadsCostUndividedWork demands that the offer of fewer threads counts the barriers saved and the work that
// is not divided then.
func TestFewerThreadsCostUndividedWork(t *testing.T) {
	const chain = `
func @f(%x: f32[256,256]) -> f32[256,256] {
  %a = relu %x
  %b = softmax %a
  %c = softmax %b
  return %c
}
`
	for _, tt := range []struct {
		name, rates, want string
		gains             bool
	}{
		{"barriers are expensive", "barrier=1e-3", "--threads 1 of the program, where barriers cost nothing: ", true},
		{"work is expensive", "barrier=1e-9", "--threads 3 of the program: ", false},
	} {
		l, err := target.Parse("t", "target cpu like=cpu hint=4 threads=4 flops=1e9 bandwidth=4e10 workerbw=1e10 "+tt.rates+"\n")
		if err != nil {
			t.Fatal(err)
		}
		m := irtest.Parse(t, chain)
		runPasses(t, m, l, pass.Options{}, "")
		x := newExplainer(m, Options{Targets: l})
		got := x.fewerWorkers(m.Funcs[0], l.Last(), 3)
		if !strings.Contains(got, tt.want) || strings.HasSuffix(got, "less") != tt.gains {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
	// The document and the text have the same total, of which barriers are a part.
	l, err := target.Parse("t", "target cpu like=cpu hint=4 barrier=1e-6\n")
	if err != nil {
		t.Fatal(err)
	}
	m := irtest.Parse(t, irtest.SmallLlama.Text())
	runPasses(t, m, l, pass.Options{}, "")
	text, doc := explained(t, m, Options{Targets: l})
	e := doc.Summary.Entries[0]
	if want := e.BarrierSeconds + e.Backends[0].Seconds; e.BarrierSeconds == 0 || e.Seconds != want {
		t.Errorf("%g s with %g s of barriers, want %g s", e.Seconds, e.BarrierSeconds, want)
	}
	wantAll(t, text, pass.SecondsText(e.Seconds)+" if all run one after the other")
}
