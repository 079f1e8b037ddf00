package mem_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/mem"
)

var table = flag.Bool("table", false, "measure what each technique is worth, and print the table of docs/measurements/planner.md")

// tableSteps is the budget of each cell: what takes longer counts as unsolved.
const tableSteps = 1 << 18

// TestTableOfTechniques measures every technique: it is switched off in the search that has it, which
// runs alone, as the other one would hide the loss.
func TestTableOfTechniques(t *testing.T) {
	if !*table {
		t.Skip("skip: takes minutes: -table runs it")
	}
	files := problems(t)
	fmt.Print("| off |")
	for _, f := range files {
		fmt.Printf(" %s |", strings.SplitN(filepath.Base(f), ".", 2)[0])
	}
	fmt.Printf(" packed |\n|---|%s--:|\n", strings.Repeat("--:|", len(files)))
	names, docs := mem.TechniqueNames()
	row(t, "nothing: both searches", files, 0)
	searches := map[string]mem.Techniques{"rise": mem.Sequence, "sequence": mem.Rise}
	row(t, "sequence: rise alone", files, searches["rise"])
	row(t, "rise: sequence alone", files, searches["sequence"])
	for i, name := range names {
		off, err := mem.ParseTechnique(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, alone := range []string{"rise", "sequence"} {
			if owner, _, of := strings.Cut(docs[i], ":"); searches[name] == 0 && (!of || strings.HasPrefix(owner, alone)) {
				row(t, fmt.Sprintf("%s (%s alone)", name, alone), files, off|searches[alone])
			}
		}
	}
}

// row prints the steps of each problem, or – where the budget was not enough.
func row(t *testing.T, title string, files []string, without mem.Techniques) {
	packed := 0
	fmt.Printf("| %s |", title)
	for _, f := range files {
		_, stats, err := mem.Solve(t.Context(), read(t, f), mem.Options{Capacity: capacityOf(t, f), MaxSteps: tableSteps, Without: without})
		if err != nil {
			fmt.Print(" – |")
			continue
		}
		packed++
		fmt.Printf(" %d |", stats.Steps)
	}
	fmt.Printf(" %d |\n", packed)
}
