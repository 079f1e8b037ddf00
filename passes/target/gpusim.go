package target

// GPUSim returns the descriptor of the simulated GPU of package runtime/gpusim. It has the kernels of package
// kernels/gpu, and memory and a queue of its own. It has no rates: under the rules cost each node goes to the first
// target that runs it. A number distinguishes several of them: see New.
func GPUSim() *Descriptor {
	return &Descriptor{
		Name:    "gpusim",
		Kind:    "gpusim",
		Like:    "gpusim",
		Doc:     "a simulated GPU: kernels for GPUs in an interpreter that finds races; gpusim:0, gpusim:1 are two",
		Spaces:  []string{"gpusim"},
		Rows:    gpuRows(),
		Threads: 1,
		Hint:    1,
		Queues:  1,
		Events:  true,
		Align:   256,

		Concurrent: true,
		Staged:     true,
	}
}
