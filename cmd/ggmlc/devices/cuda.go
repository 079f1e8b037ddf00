package devices

import (
	"fmt"
	"strconv"

	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/ondevice"
	"github.com/ggmlc/ggmlc/kernels/gpu/ptx"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/runtime/cuda"
)

func listCUDA() ([]gpuDevice, error) {
	list, err := cuda.List(nil)
	return cudaDevices(list), err
}

func cudaDevices(list []cuda.Info) (devices []gpuDevice) {
	for n, i := range list {
		d := gpuDevice{number: n, name: i.Name, chosen: i.Chosen, about: aboutCUDA(&i), memory: i.Memory, capability: i.Capability}
		if i.Missing != "" {
			d.unusable = "it lacks " + i.Missing
		}
		devices = append(devices, d)
	}
	return devices
}

func aboutCUDA(i *cuda.Info) []string {
	return []string{
		fmt.Sprintf("compute capability %d.%d, CUDA %s", i.Capability/10, i.Capability%10, i.Version),
		fmt.Sprintf("%s of memory, %d multiprocessors, workgroups of %d threads with %s", size(i.Memory), i.Processors, i.Threads, size(int64(i.Shared))),
	}
}

// cudaKernels returns the kernels of all generations that the device runs.
func cudaKernels(d *gpuDevice) []kernelKind {
	on, _ := gpu.Of("cuda")
	list := []kernelKind{cudaKind(d, on, ptx.SM70)}
	if d.capability >= 80 {
		list = append(list, cudaKind(d, gpu.Later("cuda")[0], ptx.SM80))
	}
	if slabs, ok := gpu.Slabs("cuda"); ok && d.capability == 90 {
		k := cudaKind(d, slabs, ptx.SM90a)
		k.mma = target.MMAWgmma
		list = append(list, k)
	}
	return list
}

func cudaKind(d *gpuDevice, on gpu.Machine, t ptx.Target) kernelKind {
	l := &cuda.Loader{Options: cuda.Options{Device: strconv.Itoa(d.number)}}
	return kernelKind{name: t.String(), Kind: ondevice.Kind{Name: "cuda", Assumes: on, Loader: l, Assemble: func(k *kir.Kernel) ([]byte, error) {
		text, err := ptx.Emit(k, t)
		return []byte(text), err
	}}}
}
