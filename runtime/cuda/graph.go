package cuda

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// bound is what a device keeps for a block: the graphs of its commands.
type bound struct {
	device *device
	lock   sync.Mutex // queues of the device record and write arguments in turn
	env    gpu.Env
	shared []*memory           // the memory of the host that commands address; indexed by number
	graphs map[runKey][]*graph // by their first command
	copies map[copyKey]*copying

	// Of the commands that are about to be launched.
	keys       []runKey
	dispatches []gpu.Dispatch
	words      []uint64
}

// runKey is a command in an iteration.
type runKey struct {
	command   *runtime.Command
	iteration int
}

// graph is a sequence of commands as the driver launches them.
type graph struct {
	keys []runKey
	exec handle
	args *pinned // of all dispatches; nil if there are none
	copy *memory // of args on the device

	times *times
}

// wordBytes is the size of an argument of a kernel.
const wordBytes = 8

// Bind implements runtime.Device.
func (d *device) Bind(b *runtime.Block) (any, error) {
	o := &bound{device: d, env: gpu.Env{Block: b, Mem: make([]uint64, len(b.Memory))}, graphs: map[runKey][]*graph{}, copies: map[copyKey]*copying{}}
	for i, m := range b.Memory {
		if m, ok := m.(*memory); ok && m.owner == d {
			o.env.Mem[i] = uint64(m.address)
		}
	}
	return o, o.share()
}

// bound returns what this device keeps for a block.
func (d *device) bound(b *runtime.Block) *bound { return b.Bound[d.index].(*bound) }

// launch submits commands to a stream as one graph, with the arguments of the present step. The step before that had
// this block has ended, so nothing reads the arguments of that step. It returns the times of the graph. The context is
// current.
func (o *bound) launch(q *queue, commands []entry) (*times, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if err := o.collect(commands); err != nil {
		return nil, err
	}
	g := o.find()
	if g == nil {
		var err error
		if g, err = o.record(&q.strands); err != nil {
			return nil, err
		}
		o.graphs[g.keys[0]] = append(o.graphs[g.keys[0]], g)
	}
	if g.args != nil {
		copy(unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(g.args.bytes))), len(o.words)), o.words)
	}
	o.device.touch()
	return g.times, q.call(o.device.graphLaunch, uintptr(g.exec), uintptr(q.stream)).failed("cuGraphLaunch")
}

// collect learns the dispatches of commands.
func (o *bound) collect(commands []entry) error {
	o.keys, o.dispatches, o.words = o.keys[:0], o.dispatches[:0], o.words[:0]
	for i := range commands {
		e := &commands[i]
		c, ok := e.Command.Kernel.(gpu.Command)
		if !ok {
			return fmt.Errorf("a command of another kind of device: %T", e.Command.Kernel)
		}
		o.env.Run(c, e.Iteration)
		if err := o.env.Check(o.device.physical.limits); err != nil {
			return err
		}
		for i, s := range o.env.Dispatches {
			s.Barrier = s.Barrier || i == 0 // commands are in order
			s.First += len(o.words)
			o.dispatches = append(o.dispatches, s)
		}
		o.words = append(o.words, o.env.Words...)
		o.keys = append(o.keys, runKey{e.Command, e.Iteration})
	}
	return nil
}

// find returns the graph of the collected commands, or nil.
func (o *bound) find() *graph {
	for _, g := range o.graphs[o.keys[0]] {
		if slices.Equal(g.keys, o.keys) {
			return g
		}
	}
	return nil
}

// captureRelaxed lets other threads allocate memory meanwhile (CU_STREAM_CAPTURE_MODE_RELAXED).
const captureRelaxed = 2

// record makes a graph of the collected commands, from what is submitted to strands while they are captured.
func (o *bound) record(s *strands) (*graph, error) {
	d, g := o.device, &graph{keys: slices.Clone(o.keys)}
	kernels := make([]compiled, len(o.dispatches)) // not while the stream is captured: loading code may wait for the device
	for i := range o.dispatches {
		var err error
		if kernels[i], err = d.kernel(o.dispatches[i].Kernel); err != nil {
			return nil, err
		}
	}
	if err := g.allocate(d, len(o.words)); err != nil {
		return nil, err
	}
	if err := s.widen(o.widest()); err != nil {
		return nil, err
	}
	var err error
	if g.times, err = d.newTimes(len(o.dispatches)); err != nil {
		return nil, err
	}
	if err := d.beginCapture.call(uintptr(s.origin), captureRelaxed).failed("cuStreamBeginCapture"); err != nil {
		return nil, err
	}
	err = o.capture(g, s, kernels)
	made := new(handle)
	if r := d.endCapture.call(uintptr(s.origin), uintptr(unsafe.Pointer(made))); err == nil {
		err = r.failed("cuStreamEndCapture")
	}
	if *made != 0 {
		defer d.graphDestroy.call(uintptr(*made))
	}
	if err != nil {
		return nil, err
	}
	return g, g.instantiate(d, *made)
}

// allocate makes the memory of so many arguments.
func (g *graph) allocate(d *device, words int) (err error) {
	if words == 0 {
		return nil
	}
	if g.args, err = d.pin(wordBytes * words); err != nil {
		return err
	}
	g.copy, err = d.allocate(int64(wordBytes * words))
	return err
}

// together returns the end of the group that begins with dispatch i: those up to the next barrier may run at the same
// time.
func (o *bound) together(i int) int {
	for i++; i < len(o.dispatches) && !o.dispatches[i].Barrier; {
		i++
	}
	return i
}

// widest returns the number of dispatches of the largest group.
func (o *bound) widest() (n int) {
	for i := 0; i < len(o.dispatches); {
		end := o.together(i)
		n, i = max(n, end-i), end
	}
	return n
}

// capture submits the copy of the arguments and the kernels. Each group of kernels follows the one before it.
func (o *bound) capture(g *graph, s *strands, kernels []compiled) error {
	if err := o.sendArgs(g, s.origin); err != nil {
		return err
	}
	if err := g.times.capture(0, s.origin); err != nil {
		return err
	}
	for i := 0; i < len(o.dispatches); {
		end := o.together(i)
		if err := o.group(g, s, kernels, i, end); err != nil {
			return err
		}
		i = end
	}
	return nil
}

// sendArgs submits the copy of the arguments.
func (o *bound) sendArgs(g *graph, stream handle) error {
	if g.args == nil {
		return nil
	}
	return o.device.copyToDevice.call(uintptr(g.copy.address), g.args.address, uintptr(len(g.args.bytes)), uintptr(stream)).failed("cuMemcpyHtoDAsync")
}

// group submits the dispatches from one number to before another one, which may run at the same time.
func (o *bound) group(g *graph, s *strands, kernels []compiled, begin, end int) error {
	n := end - begin
	g.times.group(o.dispatches[begin:end])
	if err := s.fork(n); err != nil {
		return err
	}
	for i := begin; i < end; i++ {
		if err := o.dispatch(g, &o.dispatches[i], kernels[i], s.stream(i-begin, n)); err != nil {
			return fmt.Errorf("kernel %s: %w", o.dispatches[i].Kernel.Name, err)
		}
		if err := g.times.capture(1+i, s.stream(i-begin, n)); err != nil {
			return err
		}
	}
	return s.join(n)
}

// dispatch submits a kernel.
func (o *bound) dispatch(g *graph, s *gpu.Dispatch, k compiled, stream handle) error {
	block := new(uint64) // the only parameter
	if g.copy != nil {
		*block = uint64(g.copy.address) + uint64(wordBytes*s.First)
	}
	params := &[1]unsafe.Pointer{unsafe.Pointer(block)}
	r := o.device.launchKernel.call(uintptr(k.function), uintptr(s.Groups), 1, 1, uintptr(k.threads), 1, 1, 0, uintptr(stream),
		uintptr(unsafe.Pointer(params)), 0)
	goruntime.KeepAlive(block)
	return r.failed("cuLaunchKernel")
}

// instantiate makes a graph ready to be launched.
func (g *graph) instantiate(d *device, made handle) error {
	if err := d.graphInstantiate.call(uintptr(unsafe.Pointer(&g.exec)), uintptr(made), 0).failed("cuGraphInstantiateWithFlags"); err != nil {
		return err
	}
	exec := g.exec
	goruntime.AddCleanup(g, release, d.own(func() { d.graphExecDestroy.call(uintptr(exec)) }))
	return nil
}
