package runtime

import "fmt"

// deviceSession is the part of a session that is on the devices.
type deviceSession struct {
	Queues
	session *Session
	all     arena    // inputs and outputs of all steps in flight
	blocks  []*Block // indexed by instance
	step    uint64   // the last one submitted
}

func (o *openDevices) session(s *Session) (stepper, error) {
	l := o.layout
	n := l.pipeline()
	d := &deviceSession{session: s, blocks: make([]*Block, n)}
	d.Queues = Queues{set: o, events: make([]point, l.Events), ends: make([]Event, len(l.Queues)), drains: make([]finish, len(l.Queues))}
	var err error
	if d.all, err = allocateArena(wholePages(s.model.program.IOBytes)*int64(n), inputsAndOutputs); err != nil {
		return nil, err
	}
	memory, err := o.allocate(s)
	if err != nil {
		return nil, err
	}
	for i := range d.blocks {
		if d.blocks[i], err = o.bind(i, memory, d.instance(d.all, i)); err != nil {
			return nil, err
		}
	}
	s.args.Queues = &d.Queues
	d.use(d.blocks[0])
	return d, nil
}

// allocate returns the memory of a session, indexed by the numbers of Layout.Memory, except that of inputs and
// outputs.
func (o *openDevices) allocate(s *Session) ([]Memory, error) {
	memory := make([]Memory, len(o.layout.Memory))
	copy(memory, o.weights)
	for i := range o.layout.Memory {
		c := &o.layout.Memory[i]
		switch {
		case c.Class == Weights || c.Class == IO:
		case c.Device >= 0:
			m, err := o.deviceMemory(c)
			if err != nil {
				return nil, fmt.Errorf("%s: %d bytes of a session: %w", c.Space, c.Bytes, err)
			}
			memory[i] = m
		case c.Class == State:
			memory[i] = hostMemory(s.state.bytes)
		case c.Class == Activations:
			memory[i] = hostMemory(s.active.bytes)
		}
	}
	return memory, nil
}

func (o *openDevices) deviceMemory(c *Chunk) (Memory, error) {
	m, err := o.devices[c.Device].Alloc(c.Class, c.Bytes)
	if _, isGroup := o.devices[c.Device].(*group); err == nil && c.Class == State && !isGroup { // a group's is zero
		err = o.devices[c.Device].Clear(m)
	}
	return m, err
}

// bind makes the block of one instance.
func (o *openDevices) bind(slot int, memory []Memory, io arena) (*Block, error) {
	b := &Block{Slot: slot, Memory: append([]Memory(nil), memory...), Bound: make([]any, len(o.devices))}
	for i := range o.layout.Memory {
		if o.layout.Memory[i].Class == IO {
			b.Memory[i] = hostMemory(io.bytes)
		}
	}
	for i, d := range o.devices {
		bound, err := d.Bind(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.layout.Devices[i].Name, err)
		}
		b.Bound[i] = bound
	}
	return b, nil
}

// use makes the session read and write the inputs and outputs of a block.
func (d *deviceSession) use(b *Block) {
	d.block = b
	d.session.io = d.instance(d.all, b.Slot)
	d.session.args.IO = d.session.io.base()
}

func (d *deviceSession) begin(order stepOrder) {
	if order == alone {
		d.await(d.step)
		d.idle()
		return
	}
	next := d.blocks[d.upcoming()]
	d.await(next.Step)
	d.use(next)
}

// Idler is a Device that wants to be told when no step of a session is in flight.
type Idler interface {
	Idle(b *Block)
}

// idle tells the devices that no step is in flight. If any device asks for poison, activations on the host are
// poisoned too.
func (d *deviceSession) idle() {
	poison := false
	for _, dev := range d.set.devices {
		if i, ok := dev.(Idler); ok {
			i.Idle(d.block)
			poison = true
		}
	}
	if poison {
		d.session.active.poison()
	}
	if d.session.model.options.Poison {
		d.poisonGroups()
	}
}

// poisonGroups poisons the activations of groups.
func (d *deviceSession) poisonGroups() {
	for i := range d.set.layout.Memory {
		c := &d.set.layout.Memory[i]
		if c.Device < 0 || c.Class != Activations {
			continue
		}
		if _, isGroup := d.set.devices[c.Device].(*group); isGroup {
			arena{d.block.Memory[i].(HostMemory).octets()}.poison()
		}
	}
}

func (d *deviceSession) submit() {
	d.step++
	d.block.Dims, d.block.Step = d.session.args.Dims, d.step
}

// submitted marks the end of the step on every queue.
func (d *deviceSession) submitted() {
	for i := range d.set.queues {
		q := &d.set.queues[i]
		q.device.Record(q.local, &d.ends[i], d.step)
	}
}

// await returns when a step has ended on all queues.
func (d *deviceSession) await(step uint64) {
	for i := range d.ends {
		d.ends[i].Await(step)
	}
}

func (d *deviceSession) flying() (slot int, number uint64) { return d.block.Slot, d.step }

func (d *deviceSession) upcoming() int { return (d.block.Slot + 1) % len(d.blocks) }

func (d *deviceSession) finish() error { return d.landed(d.step) }

func (d *deviceSession) landed(number uint64) error {
	d.await(number)
	if err := d.set.Fault(); err != nil {
		return d.session.model.blame(err)
	}
	return nil
}

func (d *deviceSession) clear() {
	for i := range d.set.layout.Memory {
		c := &d.set.layout.Memory[i]
		if c.Class != State || c.Device < 0 {
			continue
		}
		if err := d.set.devices[c.Device].Clear(d.block.Memory[i]); err != nil {
			d.set.Fail(&FaultError{Device: d.set.layout.Devices[c.Device].Name, Command: "clearing the state", Value: err})
		}
	}
}
