package codegen

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// Manifest is the plan as data for users' tools: what `--metafile` writes and the emitted
// program's `plan --json` prints. Sizes are in bytes.
type Manifest struct {
	Version  int           `json:"version"`
	Model    string        `json:"model"`
	Compiler string        `json:"compiler,omitempty"`
	PlanID   string        `json:"plan_id,omitempty"`
	Weights  *ManifestBlob `json:"weights,omitempty"`
	Pipeline int           `json:"pipeline"` // steps that may be under way at once
	Threads  int           `json:"threads"`  // most threads that the program runs: the plan is proved for 1 to so many

	Backends  []ManifestBackend `json:"backends"`
	Arenas    []ManifestArea    `json:"arenas"`
	Functions []ManifestFunc    `json:"functions"`
}

// ManifestBlob is the packed weights.
type ManifestBlob struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// ManifestBackend is a backend that runs something.
type ManifestBackend struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Spaces []string `json:"spaces"`           // memory that it addresses, its own first
	Queues []string `json:"queues,omitempty"` // on which it works while the host continues
}

// ManifestArea is one arena, with the bytes that no plan could go below and the values
// that set this bound.
type ManifestArea struct {
	Space      string   `json:"space"`
	Class      string   `json:"class"`
	Bytes      int64    `json:"bytes"`
	LowerBound int64    `json:"lower_bound"`
	Function   string   `json:"function,omitempty"`
	Setters    []string `json:"setters,omitempty"`
}

// ManifestFunc is an entry point.
type ManifestFunc struct {
	Name     string           `json:"name"`
	Nodes    int64            `json:"nodes"`
	Barriers int64            `json:"barriers"`
	MaxParts int64            `json:"max_parts,omitempty"`
	Splits   []ManifestSplit  `json:"splits"`
	Kernels  map[string]int64 `json:"kernels"` // how often each kernel is called, and memory copied to another space
}

// ManifestSplit is a run of nodes on one backend, with the values copied in before it.
type ManifestSplit struct {
	Backend string   `json:"backend"`
	Inputs  []string `json:"inputs,omitempty"`
}

// NewManifest describes the plan of a placed module for these targets; nil is the CPU alone.
func NewManifest(m *ir.Module, targets *target.List) *Manifest {
	mf := &Manifest{Version: 1, Model: m.Name, Pipeline: 1, Threads: m.Plan.Workers(), Functions: []ManifestFunc{}, Arenas: []ManifestArea{}}
	used := usedBackends(m)
	for _, t := range orCPU(targets).All() {
		if used[t.Name] {
			mf.Backends = append(mf.Backends, ManifestBackend{t.Name, t.Kind, t.Spaces, queueNames(t)})
			if t.Queues > 0 { // without queues the host waits for the device in each step
				mf.Pipeline = max(m.Plan.Pipeline, 1)
			}
		}
	}
	for i := range m.Plan.Arenas {
		a := &m.Plan.Arenas[i]
		mf.Arenas = append(mf.Arenas, ManifestArea{a.Space, a.Class.String(), a.Bytes(), a.Bound, a.BoundFunc, a.Setters})
	}
	for _, fp := range m.Plan.Funcs {
		f := ManifestFunc{Name: fp.Func, Nodes: fp.Nodes, Barriers: fp.Barriers, MaxParts: fp.MaxParts, Kernels: make(map[string]int64)}
		for _, s := range fp.Splits {
			f.Splits = append(f.Splits, ManifestSplit{s.Backend, s.Inputs})
		}
		countKernels(m.Func(fp.Func), 1, f.Kernels)
		mf.Functions = append(mf.Functions, f)
	}
	return mf
}

// orCPU returns the targets, or a list of the CPU alone.
func orCPU(targets *target.List) *target.List {
	if targets == nil {
		targets, _ = target.NewList(target.CPU()) // one target is a list
	}
	return targets
}

// queueNames returns the names of the target's queues.
func queueNames(t *target.Descriptor) []string {
	var names []string
	for i := range t.Queues {
		names = append(names, queueName(t, i))
	}
	return names
}

// transfer is what copies between spaces are counted as.
const transfer = "transfer"

// countKernels adds the kernel calls of f, those in repeats as often as they run.
func countKernels(f *ir.Func, times int64, counts map[string]int64) {
	for _, n := range f.Nodes {
		if n.Op == ir.OpRepeat {
			countKernels(n.Body, times*n.Attr.(*ir.RepeatAttr).Count, counts)
			continue
		}
		switch emit := cpuEmitters[n.Op]; {
		case isCopy(n) && n.Args[0].Root().Type.Space != n.Result().Type.Space:
			counts[transfer] += times
		case emit != nil:
			counts[emit.kernel(n)] += times
		}
	}
}

// threads returns the text for the number of threads that a step can use.
func threads(n int64) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("up to %d threads", n)
}

// JSON returns the manifest as an indented document that ends with a newline.
func (mf *Manifest) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(mf, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("codegen: internal error: %w", err)
	}
	return append(printable.JSON(b), '\n'), nil
}

// planText returns what the emitted program's `plan` prints. No name of a module breaks a line.
func planText(m *ir.Module, mf *Manifest) string {
	var lines []string
	for _, t := range mf.Backends {
		line := fmt.Sprintf("backend %s: kind %s, memory %s", t.Name, t.Kind, strings.Join(t.Spaces, " "))
		if len(t.Queues) > 0 {
			line += ", queue " + strings.Join(t.Queues, " ")
		}
		lines = append(lines, line)
	}
	if mf.Pipeline > 1 {
		lines = append(lines, fmt.Sprintf("%d steps under way at once", mf.Pipeline))
	}
	if mf.Threads < ir.MaxThreads {
		lines = append(lines, "for "+threads(int64(mf.Threads)))
	}
	for i := range m.Plan.Arenas {
		lines = append(lines, arenaLine(&m.Plan.Arenas[i]))
	}
	lines = append(lines, ringLine(m)...)
	for _, f := range mf.Functions {
		lines = append(lines, functionLines(f)...)
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(printable.Line(line) + "\n")
	}
	return b.String()
}

// arenaLine returns the line for an arena: its size, and what sets its lower bound.
func arenaLine(a *ir.Arena) string {
	line := fmt.Sprintf("arena %s %s: %d bytes%s, lower bound %d", a.Space, a.Class, a.Bytes(), ir.RoundedBytes(a.Bytes()), a.Bound)
	if len(a.Setters) > 0 {
		line += fmt.Sprintf(", set in %s by %s", a.BoundFunc, strings.Join(a.Setters[:min(6, len(a.Setters))], " "))
	}
	return line
}

// ringLine returns the line for states that keep the last positions only, if there are any.
func ringLine(m *ir.Module) []string {
	if m.LM == nil || len(m.RingStates()) == 0 {
		return nil
	}
	rows, _ := m.Ring()
	saved := ir.RingSaves(m)
	return []string{fmt.Sprintf("%d states keep the last %d of %d positions: %d bytes%s less than all", len(m.RingStates()), rows, m.Context(), saved, ir.RoundedBytes(saved))}
}

// functionLines are the lines of an entry point and its splits.
func functionLines(f ManifestFunc) []string {
	line := fmt.Sprintf("function %s: %d nodes, %d barriers", f.Name, f.Nodes, f.Barriers)
	if f.MaxParts > 0 {
		line += ", work for " + threads(f.MaxParts)
	}
	lines := []string{line}
	for i, s := range f.Splits {
		split := fmt.Sprintf("  split %d on %s", i, s.Backend)
		if len(s.Inputs) > 0 {
			split += ", copies in " + strings.Join(s.Inputs, " ")
		}
		lines = append(lines, split)
	}
	return append(lines, fmt.Sprintf("  %d copies a call", f.Kernels[transfer]))
}
