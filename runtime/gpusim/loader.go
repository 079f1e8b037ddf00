package gpusim

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/ggmlc/ggmlc/kernels/gpu/interp"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// Options control a device. The zero Options look for all faults, in subgroups of 32 threads.
type Options struct {
	Seed   uint64        // of the orders of threads; each dispatch has another order
	Lanes  int           // threads of a subgroup: 4, 8, 16, 32 or 64; 0 is 32
	Checks interp.Checks // what is looked for
}

// Loader opens simulated GPUs.
type Loader struct{ Options }

// checks are the values of --gpusim-check.
var checks = map[string]interp.Checks{"all": interp.CheckAll, "bounds": interp.CheckBounds}

// lanes are the values of --gpusim-lanes.
var lanes = map[string]int{"4": 4, "8": 8, "16": 16, "32": 32, "64": 64}

// Flags adds --gpusim-seed, --gpusim-check and --gpusim-lanes to a program's command line.
func (l *Loader) Flags(add func(name, value, help string, set func(string) error)) {
	add("gpusim-seed", "N", "of the orders of threads on simulated GPUs (default: 0)", func(s string) error {
		n, err := strconv.ParseUint(s, 0, 64)
		if err != nil {
			return errors.New("it must be a whole number from 0 to 2^64-1")
		}
		l.Seed = n
		return nil
	})
	add("gpusim-check", "WHAT", "what is looked for on simulated GPUs: all, or bounds, which leaves out races and undefined reads and is faster (default: all)", func(s string) error {
		return choose(&l.Checks, checks, s, "all or bounds")
	})
	add("gpusim-lanes", "N", "threads of a subgroup of simulated GPUs: 4, 8, 16, 32 or 64 (default: 32)", func(s string) error {
		return choose(&l.Lanes, lanes, s, "4, 8, 16, 32 or 64")
	})
}

// choose sets an option to the value that a word names.
func choose[T any](option *T, values map[string]T, word, all string) error {
	v, ok := values[word]
	if !ok {
		return fmt.Errorf("it must be %s", all)
	}
	*option = v
	return nil
}

// Open implements runtime.Loader.
func (l *Loader) Open(info *runtime.DeviceInfo, index int, s *runtime.Supervisor) (runtime.Device, error) {
	d := &device{
		options: l.Options, info: info, index: index, supervisor: s,
		memory: interp.NewMemory(), programs: make(map[*gpu.Kernel]*interp.Program),
	}
	for _, name := range info.Queues {
		q := newQueue(d, s.Timeline.Queue(name))
		d.queues = append(d.queues, q)
		go q.work()
	}
	return d, nil
}
