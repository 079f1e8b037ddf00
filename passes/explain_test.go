package passes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// explained is what a person and a program read about a module.
func explained(t *testing.T, m *ir.Module, o ExplainOptions) (string, *Explanations) {
	t.Helper()
	doc, err := Explain(m, o)
	if err != nil {
		t.Fatal(err)
	}
	var text, js bytes.Buffer
	if err := errors.Join(doc.WriteText(&text), doc.WriteJSON(&js)); err != nil {
		t.Fatal(err)
	}
	back := &Explanations{}
	if err := json.Unmarshal(js.Bytes(), back); err != nil || back.Version != explainVersion {
		t.Fatalf("version %d, %v", back.Version, err)
	}
	return text.String(), back
}

func wantAll(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, want := range parts {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

func runPasses(t *testing.T, m *ir.Module, targets *target.List, o Options, to string) {
	t.Helper()
	if _, err := Run(context.Background(), m, RunOptions{Targets: targets, Options: o, To: to}); err != nil {
		t.Fatal(err)
	}
}

// TestExplain asks about a dump that was read back.
func TestExplain(t *testing.T) {
	m := parse(t, smallModule)
	runPasses(t, m, cpuOnly(t), Options{}, "assign")
	o := ExplainOptions{Targets: cpuOnly(t), Node: "%y"}
	text, doc := explained(t, parse(t, m.String()), o)
	wantAll(t, text, "in @f", "runs on cpu", "assign.first", "fuse: what is added to a product is added by the product (fuse.residual): %p; it was add and is matmul")
	if len(doc.Nodes) != 1 || len(doc.Nodes[0].Causes) != 2 {
		t.Errorf("%+v", doc.Nodes)
	}
	if _, err := Explain(m, ExplainOptions{Targets: cpuOnly(t), Node: "nobody"}); err == nil {
		t.Error("a node that is not there was explained")
	}
}
