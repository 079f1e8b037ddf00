package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
)

// writeLegend explains, as comments, the rules that the causes of a dump name, so that a reader sees why a node is
// where it is. It writes nothing if no column shows causes.
func writeLegend(w io.Writer, m *ir.Module, o ir.PrintOptions) error {
	rules := passes.ShownRules(m, o)
	if len(rules) == 0 {
		return nil
	}
	widest := 0
	for _, r := range rules {
		widest = max(widest, len(r.Name))
	}
	var b strings.Builder
	b.WriteString("// rules\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "//   %-*s %s\n", widest, r.Name, r.Doc)
	}
	_, err := io.WriteString(w, wrap(b.String(), columns, "//"))
	return err
}
