package gpusim

import (
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"sync"

	"github.com/ggmlc/ggmlc/kernels/gpu/interp"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// device is a simulated GPU.
type device struct {
	options    Options
	info       *runtime.DeviceInfo
	index      int
	supervisor *runtime.Supervisor
	queues     []*queue

	mu         sync.Mutex // held while anything uses what follows
	memory     *interp.Memory
	programs   map[*gpu.Kernel]*interp.Program
	dispatches uint64 // made so far
}

// Limits of kernels and dispatches, as on every GPU.
const (
	maxThreads = 1024
	maxGroups  = 65535
)

// Bind implements runtime.Device.
func (d *device) Bind(b *runtime.Block) (any, error) {
	e := &gpu.Env{Block: b, Mem: make([]uint64, len(b.Memory))}
	for _, i := range d.info.Memory {
		switch m := b.Memory[i].(type) {
		case *memory:
			e.Mem[i] = m.address
		case runtime.HostMemory:
			e.Mem[i] = d.share(m)
			goruntime.AddCleanup(e, d.free, e.Mem[i])
		}
	}
	return e, nil
}

// run runs a command. With d.mu.
func (d *device) run(e *entry) error {
	c, ok := e.command.Kernel.(gpu.Command)
	if !ok {
		return fmt.Errorf("a command of another kind of device: %T", e.command.Kernel)
	}
	env := e.block.Bound[d.index].(*gpu.Env)
	env.Run(c, e.iteration)
	if err := env.Check(gpu.Limits{Threads: maxThreads, Groups: maxGroups}); err != nil {
		return err
	}
	for from := 0; from < len(env.Dispatches); {
		to := from + 1
		for to < len(env.Dispatches) && !env.Dispatches[to].Barrier {
			to++
		}
		if err := d.section(e.command, env, from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// section runs the dispatches that no barrier is between, in random order.
func (d *device) section(c *runtime.Command, env *gpu.Env, from, to int) error {
	accesses := d.memory.NewSection()
	for _, i := range rand.New(rand.NewPCG(d.options.Seed, d.dispatches)).Perm(to - from) {
		s := &env.Dispatches[from+i]
		if err := d.dispatch(s, env.Words[s.First:s.First+s.Kernel.Args], accesses); err != nil {
			return fmt.Errorf("%skernel %q: %w", nodeOf(c, from+i), s.Kernel.Name, err)
		}
	}
	return nil
}

// nodeOf returns the name of the node that a dispatch computes, if it is known, for the beginning of an error.
func nodeOf(c *runtime.Command, dispatch int) string {
	if dispatch >= len(c.Nodes) {
		return ""
	}
	return c.Nodes[dispatch] + ": "
}

// dispatch runs a kernel.
func (d *device) dispatch(s *gpu.Dispatch, args []uint64, section *interp.Section) error {
	p, err := d.program(s.Kernel)
	if err != nil {
		return err
	}
	d.dispatches++
	return section.Run(p, interp.Launch{Groups: s.Groups, Args: args}, d.options.Seed+d.dispatches)
}

// program returns the program of a kernel, which is compiled when it is first used.
func (d *device) program(k *gpu.Kernel) (*interp.Program, error) {
	if p := d.programs[k]; p != nil {
		return p, nil
	}
	code, err := kir.Parse(k.Code)
	if err != nil {
		return nil, fmt.Errorf("its text: %w", err)
	}
	if code.Threads != k.Threads || len(code.Args) != k.Args {
		return nil, fmt.Errorf("its text has %d threads and %d arguments, not %d and %d", code.Threads, len(code.Args), k.Threads, k.Args)
	}
	p, err := interp.Compile(code, interp.Options{Subgroup: d.options.Lanes, Checks: d.options.Checks})
	if err != nil {
		return nil, err
	}
	d.programs[k] = p
	return p, nil
}

// Run implements runtime.Device.
func (d *device) Run(queue int, c *runtime.Command, b *runtime.Block, iteration int) {
	d.queues[queue].submit(entry{kind: run, command: c, block: b, iteration: iteration})
}

// Copy implements runtime.Device.
func (d *device) Copy(queue int, t runtime.Transfer, b *runtime.Block) {
	d.queues[queue].submit(entry{kind: transfer, transfer: t, block: b})
}

// Record implements runtime.Device.
func (d *device) Record(queue int, e *runtime.Event, n uint64) {
	if q := d.queues[queue]; !q.submit(entry{kind: record, event: e, count: n}) {
		<-q.ended // earlier records come first
		e.Signal(n)
	}
}

// Wait implements runtime.Device.
func (d *device) Wait(queue int, e *runtime.Event, n uint64) {
	d.queues[queue].submit(entry{kind: wait, event: e, count: n})
}

// Close implements runtime.Device.
func (d *device) Close() error {
	for _, q := range d.queues {
		q.close()
	}
	return nil
}
