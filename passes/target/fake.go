package target

// Fake returns the descriptor of the simulated device of package runtime/fake. It has the kernels of the CPU, and
// memory and a queue of its own. A number distinguishes several of them: see New.
func Fake() *Descriptor {
	return &Descriptor{
		Name:    "fake",
		Kind:    "fake",
		Like:    "fake",
		Doc:     "a simulated device: the CPU's kernels behind a queue, in memory of their own; fake:0, fake:1 are two",
		Spaces:  []string{"fake"},
		Rows:    cpuRows(),
		Threads: 1,
		Hint:    1,
		Queues:  1,
		Events:  true,
		Align:   defaultAlign,
		Rates:   fakeRates,
	}
}

// fakeRates are those of an invented device. Its arithmetic is five times as fast as 8 workers of the CPU. Its link is
// that of PCIe 3.0 with 16 lanes, for which the specification has 16e9 bytes per second and drivers reach about 12e9.
// Starting a node takes as long as starting a kernel of a GPU.
var fakeRates = Rates{
	FLOPs:     1.6e12,
	QuantOps:  4e12,
	Bandwidth: 2e11,
	WorkerBW:  2e11,
	Launch:    2e-6,
	Link:      1.2e10,
	LinkDelay: 5e-6,
}
