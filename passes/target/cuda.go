package target

// CUDA returns the descriptor of a GPU that package runtime/cuda drives. It runs the kernels of package kernels/gpu, as
// Vulkan's does, in memory and on a queue of its own. A number distinguishes several of them: see New.
func CUDA() *Descriptor {
	return &Descriptor{
		Name:    "cuda",
		Kind:    "cuda",
		Like:    "cuda",
		Doc:     "an NVIDIA GPU of compute capability 7.0 or later; cuda:0, cuda:1 are two",
		Spaces:  []string{"cuda"},
		Rows:    gpuRows(),
		Segment: gpuSegment,
		MMA:     MMASync,
		Threads: 1,
		Hint:    1,
		Queues:  1,
		Events:  true,
		Align:   256,
		Rates:   cudaRates,

		Concurrent: true,
		Staged:     true,
	}
}

// cudaRates are those of an H100 (NVIDIA, "H100 Tensor Core GPU" datasheet, SXM: 67 TFLOP/s of FP32, which the kernels
// compute with, 3.35 TB/s, PCIe 5.0 with 64 GB/s in each direction, of which copies reach about 5e10). An H200 has the
// same arithmetic and 4.8 TB/s. From one kernel of a graph to the next it takes 1.3 µs (Hazy Research, "Look Ma, No
// Bubbles", 2025).
var cudaRates = Rates{
	FLOPs:     6.7e13,
	QuantOps:  6.7e13,
	Bandwidth: 3.35e12,
	WorkerBW:  3.35e12,
	Launch:    1.3e-6,
	Link:      5e10,
	LinkDelay: 1e-5,
}
