package main

import (
	"fmt"
	"log"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/opcase"
	"github.com/ggmlc/ggmlc/passes/target"
)

const coverageHead = `# What backends compute

` + "```sh\n./ggmlc targets        # the built-in backends\n```" + `

An op with its sample cases (` + "`ir.OpInfo.Cases`" + `), and how many of them the kernels of each backend read as they are.
Of the others, the pass [pack](passes.md) converts what it has kernels for. The cases are the conformance suite of GPUs, which
` + "`go test ./kernels/gpu ./tests/device`" + ` runs. A dash means that there is no kernel: such nodes run on another backend. [ops.md](ops.md)
has the formats that the processor reads.

`

// coveragePage returns the table of the ops that backends have kernels for. The simulated device and groups of threads
// have those of the processor.
func coveragePage() string {
	backends := slices.DeleteFunc(target.Builtins(), func(d *target.Descriptor) bool { return d.Kind == "fake" || d.IsGroup() })
	var b strings.Builder
	b.WriteString(generated + coverageHead + "| op | cases |")
	for _, d := range backends {
		b.WriteString(" " + d.Name + " |")
	}
	b.WriteString(" formats on GPUs |\n|---|---" + strings.Repeat("|---", len(backends)) + "|---|\n")
	for op := range ir.Ops {
		if info := op.Info(); info.Cases != nil && info.Traits&(ir.View|ir.Leaf|ir.HasBody) == 0 && op != ir.OpCall {
			b.WriteString(coverageRow(op, backends))
		}
	}
	b.WriteString("| ops with kernels | |")
	for _, d := range backends {
		fmt.Fprintf(&b, " %d |", len(claimed(d)))
	}
	b.WriteString(" |\n")
	return b.String()
}

// claimed returns the ops that a backend has kernels for.
func claimed(d *target.Descriptor) map[ir.Op]bool {
	ops := make(map[ir.Op]bool)
	for _, r := range d.Rows {
		if r.Op != ir.OpObserve { // which calls the observer
			ops[r.Op] = true
		}
	}
	return ops
}

// coverageRow returns the line of an op.
func coverageRow(op ir.Op, backends []*target.Descriptor) string {
	nodes := sampleNodes(op)
	cells := []string{"`" + op.String() + "`", fmt.Sprint(len(nodes))}
	var formats []string
	for _, d := range backends {
		reads := 0
		for _, n := range nodes {
			if d.Reads(n) {
				reads++
			}
		}
		if text := fmt.Sprint(reads); d.Has(op) {
			cells = append(cells, text)
		} else {
			cells = append(cells, "-")
		}
		for _, r := range d.Rows {
			if text := "`" + rowText(r) + "`"; d.Kind != "cpu" && r.Op == op && !slices.Contains(formats, text) {
				formats = append(formats, text)
			}
		}
	}
	return "| " + strings.Join(append(cells, cell(strings.Join(formats, ", "))), " | ") + " |\n"
}

// rowText returns the text of a row; one of many operands of one format has that format once.
func rowText(r target.Row) string {
	first := r.Args[0].String()
	for _, f := range r.Args {
		if len(r.Args) < 4 || f.String() != first {
			return r.String()
		}
	}
	return fmt.Sprintf("%v(%s…)", r.Op, first)
}

// sampleNodes returns the nodes of the sample cases of an op.
func sampleNodes(op ir.Op) []*ir.Node {
	var nodes []*ir.Node
	for c := range op.Info().Cases {
		call, err := opcase.Case(op, c, 1)
		if err != nil {
			log.Fatalf("%v %s: %v", op, c.Name, err)
		}
		all := call.Module.Funcs[0].Nodes
		nodes = append(nodes, all[len(all)-1])
	}
	return nodes
}
