package codegen

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ggmlc/ggmlc/codegen/backend"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// What the emitter demands of a plan for several backends.

// PieceError reports an arena of the host in several chunks, of which programs allocate one. Targets lists the targets
// that address the host's memory and bound the size of a chunk.
type PieceError struct {
	Class       ir.Class
	Space       string
	Need, Limit int64 // bytes
	Targets     []string
}

// Error names the targets and their limit.
func (e *PieceError) Error() string {
	return fmt.Sprintf("%s of the space %s: %d bytes: %s", e.Class, e.Space, e.Need, e.Advice())
}

// Advice returns the limit and what to do.
func (e *PieceError) Advice() string {
	smaller := "lower --ctx or --batch"
	if e.Class == ir.ClassWeights {
		smaller = "quantize"
	}
	return fmt.Sprintf("a program has it in one piece, and %s can address at most %d bytes in one: %s, leave out space=host, or write a larger maxalloc if the device allows it (ggmlc devices)",
		strings.Join(e.Targets, ", "), e.Limit, smaller)
}

// checkPieces returns a *PieceError for the first arena of the host that is in several chunks.
func (l *layout) checkPieces() error {
	for i := range l.m.Plan.Arenas {
		a := &l.m.Plan.Arenas[i]
		if a.Space != target.Host || len(a.Chunks) < 2 {
			continue
		}
		e := &PieceError{Class: a.Class, Space: a.Space, Need: a.Bytes()}
		for _, t := range l.targets.All() {
			if !t.Addresses(target.Host) || t.MaxAlloc == 0 {
				continue
			}
			if e.Targets = append(e.Targets, t.Name); e.Limit == 0 || t.MaxAlloc < e.Limit {
				e.Limit = t.MaxAlloc
			}
		}
		if e.Targets == nil {
			return &TargetError{fmt.Errorf("the %s of the space %s are in %d chunks, and a program has one: compile it again from the pass before plan", a.Class, a.Space, len(a.Chunks))}
		}
		return e
	}
	return nil
}

// checkSpaces reports devices that address the memory of a device of another name: unless both are simulated, it is
// that device's alone.
func (l *layout) checkSpaces() error {
	var errs []error
	for i := range l.devices {
		for k := range l.devices {
			a, b := &l.devices[i], &l.devices[k]
			if i != k && a.Kind != kindFake && a.Home() != target.Host && b.Addresses(a.Home()) {
				errs = append(errs, fmt.Errorf("target %s: the space %s is the memory of %s, which no other device addresses: write space=%s", b.Name, a.Home(), a.Name, b.Name))
			}
		}
	}
	return errors.Join(errs...)
}

// checkNodes reports nodes for which there is no kernel, the first of each op and backend. A target
// file may claim that a backend runs an op for which there is no kernel.
func (l *layout) checkNodes() error {
	type kernel struct {
		op      ir.Op
		backend string
	}
	cpu, missing := target.CPU(), make(map[kernel]bool)
	var errs []error
	for _, f := range l.m.AllFuncs() {
		for _, n := range f.Nodes {
			errs = append(errs, l.checkInstances(f, n), checkReach(f, n), checkForeign(f, n), l.checkRoute(f, n))
			if isCopy(n) {
				errs = append(errs, checkBox(f, n))
				continue
			}
			key := kernel{n.Op, n.Backend}
			d := l.deviceOf(n)
			if n.Is(ir.Leaf) || n.Is(ir.View) || n.Body != nil || missing[key] {
				continue
			}
			if d >= 0 && gpuKinds[l.devices[d].Kind] != nil {
				err := checkKernel(f, n, l.devices[d].Kind)
				missing[key] = err != nil
				errs = append(errs, err)
				continue
			}
			if d >= 0 && backend.Get(l.devices[d].Kind) != nil {
				err := checkCall(f, n, backend.Get(l.devices[d].Kind))
				missing[key] = err != nil
				errs = append(errs, err)
				continue
			}
			if cpu.Reads(n) {
				continue
			}
			missing[key] = true
			if d < 0 {
				errs = append(errs, unread(f, n))
				continue
			}
			errs = append(errs, fmt.Errorf("@%s: %v: simulated backends and groups of threads run the kernels of the CPU, and none for %v reads operands as %s does: "+
				"write like=fake, and leave ops out with ops=-NAME: an op that is named without formats reads any", f.Name, n, n.Op, n.Backend))
		}
	}
	return errors.Join(errs...)
}

// checkCall reports a node that a backend of another module has no call for.
func checkCall(f *ir.Func, n *ir.Node, b *backend.Backend) error {
	if _, err := b.Call(n); err != nil {
		return fmt.Errorf("@%s: %v: %w (%s): leave the op out with ops=-%v, or name it without formats, which are then those of its kernels", f.Name, n, err, b.Module, n.Op)
	}
	return nil
}

// unread returns the error for a node whose operands no kernel of the processor reads. Foreign nodes have their own.
func unread(f *ir.Func, n *ir.Node) error {
	if n.Op == ir.OpForeign {
		return nil
	}
	var types []string
	for _, v := range n.Args {
		if v != nil {
			t := v.Type
			t.Space = ""
			types = append(types, t.String())
		}
	}
	return fmt.Errorf("@%s: %v: the processor has no kernel for %v of %s: put it on another backend (--pin), or convert the weights", f.Name, n, n.Op, strings.Join(types, ", "))
}

// checkInstances reports results whose number of instances is neither one nor that of the steps in
// progress. Only a module that was written by hand has them.
func (l *layout) checkInstances(f *ir.Func, n *ir.Node) error {
	if n.Submit == nil || n.Submit.Slots <= 1 || n.Submit.Slots == l.m.Plan.Pipeline {
		return nil
	}
	return fmt.Errorf("@%s: %v has slots=%d, but the plan has pipeline=%d: compile it again from the pass before pipeline",
		f.Name, n, n.Submit.Slots, max(l.m.Plan.Pipeline, 1))
}

// checkRoute reports a copy from one device to another one, neither of which can address the other's memory. Only
// simulated ones can.
func (l *layout) checkRoute(f *ir.Func, n *ir.Node) error {
	if !l.isTransfer(n) {
		return nil
	}
	from, to := l.home(n.Args[0]), l.home(n.Result())
	if from < 0 || to < 0 || from == to || l.devices[from].inHostMemory() && l.devices[to].inHostMemory() {
		return nil
	}
	return fmt.Errorf("@%s: %v copies from %s to %s, which do not address each other's memory: write staged=true in one of the two targets, and compile the model again, or its dump from before the pass copy",
		f.Name, n, l.devices[from].Name, l.devices[to].Name)
}

// inHostMemory reports whether the processor addresses the device's memory.
func (d *device) inHostMemory() bool { return d.Kind == kindFake || d.Kind == kindGroup }

// checkForeign reports a node whose meaning only another program knows. A leaf is reported too, as nothing would fill
// it.
func checkForeign(f *ir.Func, n *ir.Node) error {
	if n.Op != ir.OpForeign {
		return nil
	}
	return fmt.Errorf("@%s: %v: what foreign %q does is not known here: the module can be planned (ggmlc dump), not built", f.Name, n, n.Attr.(*ir.ForeignAttr).Op)
}

// checkBox reports a copy that no queue can make.
func checkBox(f *ir.Func, n *ir.Node) error {
	if t := n.Args[0].Type; t.Strides != nil && t.Rank() > maxBoxRank {
		return fmt.Errorf("@%s: %v: a view of rank %d cannot be copied, at most %d can: reshape it first", f.Name, n, t.Rank(), maxBoxRank)
	}
	return nil
}
