package codegen

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/codegen/backend"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Kinds of targets for which code is emitted.
const (
	kindCPU   = "cpu"      // kernels/cpu, run by the program's workers
	kindGroup = "cpugroup" // the same kernels, run by threads of the processor that are a device
	kindFake  = "fake"     // the same kernels, run by a device of runtime/fake
)

// TargetError reports a plan for a backend for which no code can be emitted.
type TargetError struct{ Err error }

func (e *TargetError) Error() string { return e.Err.Error() }
func (e *TargetError) Unwrap() error { return e.Err }

// layout is what a program has besides the processor: devices with their queues, and the
// memory of all spaces. Its numbers are those of runtime.Layout.
type layout struct {
	m       *ir.Module
	targets *target.List
	devices []device
	queues  []queue
	memory  []allocation
}

// device is a backend that is not the processor.
type device struct {
	*target.Descriptor
	queues []int // numbers of its queues
}

// queue is one queue of a device.
type queue struct {
	name   string
	device int // index of layout.devices
	local  int // number among those of the device
}

// allocation is one chunk of an arena.
type allocation struct {
	arena, index int
	device       int // that allocates it; -1 for the host
}

// CheckTargets returns a *TargetError or a *PieceError if the module's plan needs what cannot be emitted, so
// that this is known before the work.
func CheckTargets(m *ir.Module, targets *target.List) error {
	_, err := newLayout(m, targets)
	return err
}

// newLayout returns the layout of a placed module. The error names what cannot be emitted.
func newLayout(m *ir.Module, targets *target.List) (*layout, error) {
	targets = orCPU(targets)
	l := &layout{m: m, targets: targets}
	used := usedBackends(m)
	var errs []error
	for _, t := range targets.All() {
		switch {
		case !used[t.Name] && !l.hasArena(t):
		case t.Kind == kindCPU && t.Home() != target.Host:
			errs = append(errs, fmt.Errorf("target %s: the program's own processor keeps its memory in the space %s, not %s: write space=%s", t.Name, target.Host, t.Home(), target.Host))
		case t.Kind == kindCPU:
		case t.Kind != kindFake && t.Kind != kindGroup && gpuKinds[t.Kind] == nil && backend.Get(t.Kind) == nil:
			errs = append(errs, fmt.Errorf("target %s: code is emitted for targets of kind %s, not %s: leave it out, or only plan with it (ggmlc dump)", t.Name, emittedKinds(), t.Kind))
		default:
			l.addDevice(t)
		}
	}
	if errs == nil {
		errs = append(errs, l.checkSpaces(), l.addMemory(), l.checkNodes())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, &TargetError{err}
	}
	if err := l.checkPieces(); err != nil {
		return nil, err
	}
	return l, nil
}

// emittedKinds lists the kinds of targets that code is emitted for.
func emittedKinds() string {
	kinds := append([]string{kindCPU, kindGroup, kindFake}, slices.Sorted(maps.Keys(gpuKinds))...)
	for _, b := range backend.All() {
		kinds = append(kinds, b.Name())
	}
	return strings.Join(kinds[:len(kinds)-1], ", ") + " and " + kinds[len(kinds)-1]
}

// usedBackends returns the names of the targets that nodes run on.
func usedBackends(m *ir.Module) map[string]bool {
	used := make(map[string]bool)
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			used[n.Backend] = true
		}
	}
	return used
}

// hasArena reports whether an arena is in the target's own memory.
func (l *layout) hasArena(t *target.Descriptor) bool {
	return t.Home() != target.Host && slices.ContainsFunc(l.m.Plan.Arenas, func(a ir.Arena) bool { return t.Addresses(a.Space) })
}

func (l *layout) addDevice(t *target.Descriptor) {
	d := device{Descriptor: t}
	for i := range max(t.Queues, 1) { // without queues the host waits for this one
		d.queues = append(d.queues, len(l.queues))
		l.queues = append(l.queues, queue{queueName(t, i), len(l.devices), i})
	}
	l.devices = append(l.devices, d)
}

// queueName returns the name that plans give to a queue of a target.
func queueName(t *target.Descriptor, i int) string {
	if i == 0 {
		return t.Name
	}
	return t.Name + ".in"
}

// addMemory numbers the chunks of all arenas.
func (l *layout) addMemory() error {
	var errs []error
	host := make(map[ir.Class]bool)
	for i := range l.m.Plan.Arenas {
		a := &l.m.Plan.Arenas[i]
		owner := l.owner(a.Space)
		switch {
		case owner < 0 && a.Space != target.Host:
			errs = append(errs, fmt.Errorf("no target that code is emitted for has the space %s", a.Space))
		case owner < 0 && host[a.Class]:
			errs = append(errs, fmt.Errorf("the space %s has two arenas for %s", a.Space, a.Class))
		case owner >= 0 && a.Class == ir.ClassIO:
			errs = append(errs, fmt.Errorf("inputs and outputs are in the space %s: the last target has to be the processor, which the caller shares memory with", a.Space))
		}
		host[a.Class] = host[a.Class] || owner < 0
		for k := range a.Chunks {
			l.memory = append(l.memory, allocation{i, k, owner})
		}
	}
	return errors.Join(errs...)
}

// owner returns the device that allocates the memory of a space; -1 for the host.
func (l *layout) owner(space string) int {
	if space == target.Host {
		return -1
	}
	return slices.IndexFunc(l.devices, func(d device) bool { return d.Addresses(space) })
}

// number returns the number of the chunk of a place.
func (l *layout) number(arena, index int) int {
	i := slices.IndexFunc(l.memory, func(c allocation) bool { return c.arena == arena && c.index == index })
	if i < 0 {
		panic(fmt.Sprintf("codegen: internal error: arena %d has no chunk %d", arena, index))
	}
	return i
}

// deviceOf returns the device that n runs on; -1 for the processor.
func (l *layout) deviceOf(n *ir.Node) int {
	return slices.IndexFunc(l.devices, func(d device) bool { return d.Name == n.Backend })
}

// queueOf returns the number of the queue that n is submitted to, and whether the host then
// waits until it is done. It is -1 where the host's workers run n.
func (l *layout) queueOf(n *ir.Node) (number int, waits bool) {
	if name := n.Queue(); name != "" {
		return slices.IndexFunc(l.queues, func(q queue) bool { return q.name == name }), false
	}
	d := l.deviceOf(n)
	if l.isTransfer(n) {
		if d = l.home(n.Args[0]); d < 0 {
			d = l.home(n.Result())
		}
	}
	if d < 0 {
		return -1, false
	}
	return l.devices[d].queues[0], true
}

// isTransfer reports whether n copies from one space into another.
func (l *layout) isTransfer(n *ir.Node) bool {
	return isCopy(n) && l.spaceOf(n.Args[0]) != l.spaceOf(n.Result())
}

// hasEvents reports whether the queue's target records events and waits for them.
func (l *layout) hasEvents(queue int) bool { return l.devices[l.queues[queue].device].Events }

// recorder returns the queue on which an event of the entry point of f is recorded.
func (l *layout) recorder(f *ir.Func, event int) int {
	n := recorderIn(f.Entry(), event)
	if n == nil {
		panic(fmt.Sprintf("codegen: internal error: @%s: nothing records event %d", f.Name, event))
	}
	number, _ := l.queueOf(n)
	return number
}

// recorderIn returns the node of f, or of a body in it, that records the event.
func recorderIn(f *ir.Func, event int) *ir.Node {
	for _, n := range f.Nodes {
		if n.Submit != nil && n.Submit.Event == event {
			return n
		}
		if n.Body != nil {
			if r := recorderIn(n.Body, event); r != nil {
				return r
			}
		}
	}
	return nil
}

// isCopy reports whether n only moves bytes.
func isCopy(n *ir.Node) bool { return n.Op == ir.OpCopy || n.Op == ir.OpCopyExperts }

// home returns the device that owns the space of v; -1 for the host.
func (l *layout) home(v *ir.Value) int { return l.owner(l.spaceOf(v)) }

// spaceOf returns the space of a value, which for a view is that of what it shows.
func (l *layout) spaceOf(v *ir.Value) string {
	if s := v.Root().Type.Space; s != "" {
		return s
	}
	return target.Host
}

// sees reports whether the device can address the memory of that number. Scratch of the host
// belongs to its workers.
func (l *layout) sees(d *device, number int) bool {
	a := &l.m.Plan.Arenas[l.memory[number].arena]
	return d.Addresses(a.Space) && !(a.Space == target.Host && a.Class == ir.ClassScratch)
}

// emitDevices emits the runtime's description of the devices; nil where there are none.
func (g *generator) emitDevices() jen.Code {
	l := g.layout
	if len(l.devices) == 0 {
		return nil
	}
	rt := g.runtimePath()
	g.emitLoaders()
	fields := jen.Dict{
		jen.Id("Pipeline"): jen.Lit(max(g.m.Plan.Pipeline, 1)),
		jen.Id("Devices"):  jen.Index().Qual(rt, "DeviceInfo").Values(g.deviceRows()...),
		jen.Id("Queues"):   jen.Index().Qual(rt, "QueueInfo").Values(g.queueRows()...),
		jen.Id("Memory"):   jen.Index().Qual(rt, "Chunk").Values(g.memoryRows()...),
		jen.Id("Events"):   jen.Lit(g.numEvents()),
	}
	if files := g.kernelFileRows(); files != nil {
		fields[jen.Id("Kernels")] = jen.Index().Qual(rt, "KernelFile").Values(files...)
	}
	return jen.Qual(rt, "NewDevices").Call(jen.Qual(rt, "Layout").Values(fields))
}

// loader returns the variable that opens the devices of a kind.
func loader(kind string) string {
	switch k := gpuKinds[kind]; {
	case k != nil:
		return k.loader
	case kind == kindGroup:
		return "groups"
	}
	if b := backend.Get(kind); b != nil {
		return b.LoaderName()
	}
	return "simulated"
}

// emitLoaders emits the variables that open devices.
func (g *generator) emitLoaders() {
	has := func(kind string) bool {
		return slices.ContainsFunc(g.layout.devices, func(d device) bool { return d.Kind == kind })
	}
	if has(kindFake) {
		comment(g.program, "simulated opens all simulated backends.")
		g.program.Var().Id(loader(kindFake)).Qual(g.fakePath(), "Loader")
	}
	if has(kindGroup) {
		comment(g.program, "groups opens all groups of the processor's threads.")
		g.program.Var().Id(loader(kindGroup)).Qual(g.runtimePath(), "Groups")
	}
	for _, kind := range slices.Sorted(maps.Keys(gpuKinds)) {
		if k := gpuKinds[kind]; has(kind) {
			comment(g.program, k.about)
			g.program.Var().Id(k.loader).Qual(k.path(), "Loader")
		}
	}
	for _, b := range g.layout.backends() {
		comment(g.program, b.LoaderName()+" opens all backends of "+b.Module+".")
		g.program.Var().Id(b.LoaderName()).Qual(b.Package, "Loader")
	}
}

// backends returns the backends of other modules that the program has devices of.
func (l *layout) backends() []*backend.Backend {
	return slices.DeleteFunc(backend.All(), func(b *backend.Backend) bool {
		return !slices.ContainsFunc(l.devices, func(d device) bool { return d.Kind == b.Name() })
	})
}

func (g *generator) deviceRows() []jen.Code {
	var rows []jen.Code
	for i := range g.layout.devices {
		d := &g.layout.devices[i]
		var names, memory []jen.Code
		for _, q := range d.queues {
			names = append(names, jen.Lit(g.layout.queues[q].name))
		}
		for k := range g.layout.memory {
			if g.layout.sees(d, k) {
				memory = append(memory, jen.Lit(k))
			}
		}
		fields := jen.Dict{
			jen.Id("Name"):   jen.Lit(d.Name),
			jen.Id("Loader"): jen.Op("&").Id(loader(d.Kind)),
			jen.Id("Queues"): jen.Index().String().Values(names...),
			jen.Id("Memory"): jen.Index().Int().Values(memory...),
		}
		if d.Kind == kindGroup {
			fields[jen.Id("Cores")] = coreNumbers(d.Cores)
		}
		rows = append(rows, jen.Values(fields))
	}
	return rows
}

// coreNumbers returns a list of cores.
func coreNumbers(cores []int) jen.Code {
	var list []jen.Code
	for _, c := range cores {
		list = append(list, jen.Lit(c))
	}
	return jen.Index().Int().Values(list...)
}

func (g *generator) queueRows() []jen.Code {
	var rows []jen.Code
	for _, q := range g.layout.queues {
		rows = append(rows, jen.Values(jen.Dict{jen.Id("Device"): jen.Lit(q.device), jen.Id("Local"): jen.Lit(q.local)}))
	}
	return rows
}

// classNames are the runtime's names of the lifetime classes.
var classNames = [...]string{
	ir.ClassWeights: "Weights", ir.ClassState: "State", ir.ClassIO: "IO",
	ir.ClassActivations: "Activations", ir.ClassScratch: "Scratch",
}

func (g *generator) memoryRows() []jen.Code {
	var rows []jen.Code
	for _, c := range g.layout.memory {
		a := &g.m.Plan.Arenas[c.arena]
		d := jen.Dict{
			jen.Id("Space"): jen.Lit(a.Space), jen.Id("Class"): jen.Qual(g.runtimePath(), classNames[a.Class]),
			jen.Id("Device"): jen.Lit(c.device), jen.Id("Bytes"): jen.Lit(int(a.Chunks[c.index])),
		}
		if a.Class == ir.ClassWeights {
			d[jen.Id("Offset")] = jen.Lit(int(blobOffset(g.m, c.arena, c.index)))
		}
		rows = append(rows, jen.Values(d))
	}
	return rows
}

// numEvents returns one more than the largest number of an event.
func (g *generator) numEvents() int {
	last := 0
	for _, f := range g.m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Submit == nil {
				continue
			}
			last = max(last, n.Submit.Event)
			for _, w := range n.Submit.Waits {
				last = max(last, w.Event)
			}
		}
	}
	return last + 1
}
