package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"math"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/passtest"
	"github.com/ggmlc/ggmlc/passes/target"
)

// layout is a model and the machine for which it is planned.
type layout struct {
	name    string
	model   passtest.Transformer
	targets string // without the processor, which is the last
	limits  map[string]int64
}

// The models: shapes of known families, with fewer layers, so that the page is made fast.
var (
	dense   = passtest.Transformer{Layers: 4, Heads: 32, KVHeads: 8, Head: 128, FF: 14336, Vocab: 32000, Ctx: 4096, Batch: 512, Weights: "q8_0"}
	mixture = passtest.Transformer{Layers: 4, Heads: 16, KVHeads: 4, Head: 128, FF: 1024, Vocab: 32000, Ctx: 4096, Batch: 512, Experts: 32, Chosen: 4, Weights: "q4_0"}
	tiny    = passtest.Transformer{Layers: 4, Heads: 4, KVHeads: 4, Head: 16, FF: 172, Vocab: 512, Ctx: 256, Batch: 64, Weights: "f32"}
)

// The processor has 8 cores; the figures of devices are those of classes of hardware, rounded.
const (
	processor = "target cpu like=cpu hint=8\n"
	bigGPU    = "target gpu space=dev ops=* flops=3e13 qops=6e13 bandwidth=8e11 workerbw=8e11 launch=4e-6 link=1.2e10 linkdelay=1e-5 queues=2 events=true\n"
	smallGPU  = "target gpu2 space=dev2 ops=* flops=8e12 qops=1.6e13 bandwidth=3e11 workerbw=3e11 launch=4e-6 link=6e9 linkdelay=1e-5 queues=1 events=true\n"
	sharedGPU = "target igpu space=host ops=* flops=2e12 qops=4e12 bandwidth=5e10 workerbw=5e10 launch=1e-5 queues=1 events=true\n"
	hostNPU   = "target npu space=host ops=matmul flops=8e12 qops=2e13 bandwidth=5e10 workerbw=5e10 launch=2e-5\n"
	ownNPU    = "target npu space=npu ops=matmul flops=8e12 qops=2e13 bandwidth=5e10 workerbw=5e10 launch=2e-5 link=4e9 linkdelay=2e-5\n"
)

var layouts = []layout{
	{"dense; a GPU over PCIe that has room for all", dense, bigGPU, nil},
	{"dense; the same with 768 MiB", dense, bigGPU, map[string]int64{"gpu": 768 << 20}},
	{"mixture; a GPU over PCIe that has room for all", mixture, bigGPU, nil},
	{"mixture; the same with 256 MiB", mixture, bigGPU, map[string]int64{"gpu": 256 << 20}},
	{"dense; a GPU that shares memory", dense, sharedGPU, nil},
	{"dense; an NPU with products only, in shared memory", dense, hostNPU, nil},
	{"dense; an NPU with products only and memory of its own", dense, ownNPU, nil},
	{"dense; two unequal GPUs with 640 MiB each", dense, bigGPU + smallGPU, map[string]int64{"gpu": 640 << 20, "gpu2": 640 << 20}},
	{"mixture; two unequal GPUs with 256 MiB each", mixture, bigGPU + smallGPU, map[string]int64{"gpu": 256 << 20, "gpu2": 256 << 20}},
	{"tiny; a GPU over PCIe", tiny, bigGPU, nil},
}

const layoutsHead = `# Where ten layouts put their nodes

The time of a token, of decode and prefill together, in microseconds, for ten combinations of a model and a machine.
Column "cost" is the [assignment](../explanation/assignment.md) that ggmlc chooses; the others are alternatives: "alone"
puts all nodes that a device runs on it, "first" each node on the first device that runs it. All times are predictions
of the cost model: the figures of the devices are those of classes of hardware, and the models have 4 layers. A dash is
an assignment that does not fit into the memory or cannot run.

| layout | alone | cpu | first | ggml-2024 | ggml-2026 | cost | bound | nodes, MiB of weights and states |
|---|---|---|---|---|---|---|---|---|
`

func layoutsPage() string {
	var b strings.Builder
	b.WriteString(generated + layoutsHead)
	for _, l := range layouts {
		row, err := l.row()
		if err != nil {
			log.Fatalf("layout %q: %v", l.name, err)
		}
		b.WriteString(row)
	}
	return b.String()
}

// row plans the layout and returns its line of the table.
func (l layout) row() (string, error) {
	m, err := l.model.Module()
	if err != nil {
		return "", err
	}
	list, err := target.Parse("targets", l.targets+processor)
	if err != nil {
		return "", err
	}
	stats, err := passes.Run(context.Background(), m, passes.RunOptions{
		Targets: list, Options: pass.Options{MaxMemory: l.limits}, To: "assign",
	})
	if err != nil {
		return "", err
	}
	var alone []string
	for _, d := range list.All()[:len(list.All())-1] {
		alone = append(alone, micros(stats, "start."+d.Name))
	}
	cells := []string{l.name, strings.Join(alone, ", ")}
	for _, start := range []string{"cpu", "first", "ggml-2024", "ggml-2026"} {
		cells = append(cells, micros(stats, "start."+start))
	}
	cells = append(cells, "**"+micros(stats, "step")+"**", micros(stats, "bound"), shares(m, list))
	return "| " + strings.Join(cells, " | ") + " |\n", nil
}

// micros returns a counter of assign in microseconds.
func micros(s *pass.Stats, name string) string {
	n := s.Counter("assign." + name + "-ns")
	if n < 0 {
		return "-"
	}
	us := float64(n) / 1000
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Log10(max(us, 1)))), us)
}

// shares returns how many nodes each target has, and how many MiB its memory holds.
func shares(m *ir.Module, list *target.List) string {
	nodes, bytes := make(map[string]int), make(map[string]int64)
	for _, f := range m.Funcs {
		for _, n := range f.Nodes {
			if n.Backend != "" {
				nodes[n.Backend]++
			}
		}
	}
	for _, w := range m.Weights {
		bytes[w.Type.Space] += w.Type.MaxBytes()
	}
	for _, s := range m.States {
		bytes[s.Type.Space] += s.Type.MaxBytes()
	}
	var texts []string
	for _, d := range list.All() {
		text := fmt.Sprintf("%s %d", d.Name, nodes[d.Name])
		if i := slices.IndexFunc(list.All(), func(o *target.Descriptor) bool { return o.Home() == d.Home() }); list.All()[i] == d {
			text += fmt.Sprintf(", %d MiB in %s", bytes[d.Home()]>>20, cmp.Or(d.Home(), "host"))
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}
