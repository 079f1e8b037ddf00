package passes

import (
	"errors"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// breaking returns a pass that breaks the module and reports whether it has changed it.
func breaking(unchanged bool) pass.Pass {
	return pass.Pass{Name: "break", Doc: "break the module", Run: func(c *pass.Context, m *ir.Module) error {
		m.Funcs[0].Nodes[0].ID = -1
		c.Unchanged = unchanged
		return nil
	}}
}

// TestVerifierSkipsOnlyWhatAPassReportsUnchanged runs a pass that breaks the module without a trace in its text: the
// verifier finds that unless the pass reports that it changed nothing.
func TestVerifierSkipsOnlyWhatAPassReportsUnchanged(t *testing.T) {
	for _, tt := range []struct {
		name      string
		unchanged bool
		passes    string
		check     string
		found     bool
	}{
		{"changed", false, "shape break", "", true},
		{"reported unchanged", true, "shape break", "", false},
		{"not verified before", true, "break", "", true},
		{"check=all", true, "shape break", "all", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := RunOptions{Targets: cpuOnly(t), Passes: strings.Fields(tt.passes), table: withPasses(breaking(tt.unchanged))}
			if tt.check != "" {
				o.Options.Debug = []pass.Setting{{Pass: "all", Flag: "check", Value: tt.check}}
			}
			_, err := Run(t.Context(), irtest.Parse(t, irtest.SmallModule), o)
			var bug *pass.InternalError
			if errors.As(err, &bug) != tt.found || err != nil && (bug.Pass != "break" || !strings.Contains(err.Error(), "out of range")) {
				t.Errorf("error %v, want one of the verifier: %v", err, tt.found)
			}
		})
	}
}

// TestPassesThatReportNoChangeMadeNone runs a pass that changes the text of a module and reports that it has not.
func TestPassesThatReportNoChangeMadeNone(t *testing.T) {
	table := withPasses(pass.Pass{Name: "rename", Doc: "rename a value", Run: func(c *pass.Context, m *ir.Module) error {
		m.Funcs[0].Rename(m.Funcs[0].Nodes[0].Result(), "other")
		c.Unchanged = true
		return nil
	}})
	o := RunOptions{Targets: cpuOnly(t), Passes: []string{"shape", "rename"}, table: table, After: func(Step, *ir.Module) error { return nil }}
	_, err := Run(t.Context(), irtest.Parse(t, irtest.SmallModule), o)
	var bug *pass.InternalError
	if !errors.As(err, &bug) || !strings.Contains(err.Error(), "it has changed the module, and reports that it has not") {
		t.Errorf("error %v", err)
	}
}
