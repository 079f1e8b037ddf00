package codegen

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Kernel is a kernel of a program for GPUs, with the nodes that it computes.
type Kernel struct {
	Name       string // of the variable in the program
	Kind       string // of the targets
	Computes   string // the op, its attributes, and the types of its operands and its result
	Groups     int    // largest number of workgroups
	Dispatches []gpu.Dispatch
	Nodes      []*ir.Node
}

// Kernels returns the kernels of a placed module in the order in which the program declares them.
func Kernels(m *ir.Module, targets *target.List) ([]*Kernel, error) {
	k := &kernelList{targets: orCPU(targets), names: newNames(m).top, known: make(map[kernelKey]*Kernel)}
	for _, entry := range m.Funcs {
		for pending := []*ir.Func{entry}; len(pending) > 0; { // as emitEntry does
			f := pending[0]
			pending = pending[1:]
			for _, n := range f.Nodes {
				if n.Body != nil {
					pending = append(pending, n.Body)
				}
				if err := k.node(n); err != nil {
					return nil, err
				}
			}
		}
	}
	return k.list, nil
}

// kernelKey identifies a kernel.
type kernelKey struct{ kind, computes, mma string }

// kernelList collects kernels.
type kernelList struct {
	targets *target.List
	names   namer
	known   map[kernelKey]*Kernel
	list    []*Kernel
}

// node adds a node, if a kernel computes it.
func (k *kernelList) node(n *ir.Node) error {
	t := k.targets.Get(n.Backend)
	if t == nil || n.Body != nil || n.Is(ir.Leaf) || n.Is(ir.View) || isCopy(n) {
		return nil
	}
	on, isGPU := gpu.Of(t.Kind)
	if !isGPU {
		return nil
	}
	key := kernelKey{t.Kind, signature(n), t.MMA}
	if known := k.known[key]; known != nil {
		known.Nodes = append(known.Nodes, n)
		return nil
	}
	if slabs, ok := gpu.Slabs(t.Kind); ok && t.MMA == target.MMAWgmma {
		on = slabs
	}
	list, err := gpu.Lower(n, on)
	if err != nil {
		return fmt.Errorf("@%s: %v: %s: %w", n.Func.Name, n, n.Backend, err)
	}
	kernel := &Kernel{Name: k.names.pick("kernel" + inCapitals(n.Op.String())), Kind: t.Kind, Computes: key.computes, Dispatches: list, Nodes: []*ir.Node{n}}
	for _, d := range list {
		kernel.Groups = max(kernel.Groups, int(min(d.Units.Upper(), gpu.MaxGroups)), 1)
	}
	k.known[key] = kernel
	k.list = append(k.list, kernel)
	return nil
}

// Origin returns a node as the comments of emitted code name it, with its function: "@decode %v11 blk.*.attn".
func Origin(n *ir.Node) string {
	return "@" + n.Func.Entry().Name + " " + nodeName(n)
}
