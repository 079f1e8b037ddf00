package target

// Fake returns the descriptor of the simulated backend: host code that runs what the CPU
// runs, from the same formats, with memory and a queue of its own (runtime/fake). Several
// are told apart by a number: see New.
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

// fakeRates make plans for a device that nobody has: one that calculates five times as fast
// as the CPU's 8 workers, behind a link like PCIe 3.0 with 16 lanes (16e9 bytes per second
// in PCI-SIG's specification, of which drivers reach about 12e9). A node takes as long to
// start as a kernel of a GPU.
var fakeRates = Rates{
	FLOPs:     1.6e12,
	QuantOps:  4e12,
	Bandwidth: 2e11,
	WorkerBW:  2e11,
	Launch:    2e-6,
	Link:      1.2e10,
	LinkDelay: 5e-6,
}
