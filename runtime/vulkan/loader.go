package vulkan

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ggmlc/ggmlc/runtime"
)

// Options control a device. The zero Options choose the device and have no layers.
type Options struct {
	Device string        // numbers or parts of names, separated by commas, for several targets; "" are the best ones
	Limit  time.Duration // the longest wait without progress; 0 is 10 s, or 60 s for a driver on the processor
	Needs  []string      // features that the kernels need besides the basic ones, such as "shaderFloat16"
	// Validate enables the validation layer and gets its messages; nil does not. A process can open about 2,000 devices
	// with it, as callbacks of C are never freed.
	Validate func(string)

	// Progress is told how much of an upload is done, of data larger than the staging memory; nil is not.
	Progress func(done, total int64)
}

// defaultLimit is about as long as systems wait before they reset a GPU. Drivers on the processor compile kernels when
// they first run, and share the processor with other programs.
const (
	defaultLimit = 10 * time.Second
	sharedLimit  = 60 * time.Second
)

// Loader opens a Vulkan device.
type Loader struct {
	Options
	unmapped bool     // memory of the device is never mapped; set by tests
	hidden   []string // see device
}

// Flags adds --vulkan-device and --vulkan-timeout to a program's command line.
func (l *Loader) Flags(add func(name, value, help string, set func(string) error)) {
	add("vulkan-device", "N", "the Vulkan device, by number or a part of its name; several targets: a list with commas (default: the GPU with the most memory, for vulkan:1 the next one)", func(s string) error {
		if slices.Contains(strings.Split(s, ","), "") {
			return errors.New("it must be a number or a part of a name, or several with commas")
		}
		l.Device = s
		return nil
	})
	add("vulkan-timeout", "D", "the longest wait for a Vulkan device without progress (default: 10s; 60s for a driver on the processor)", func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil {
			return errors.New("it must be a time, such as 30s")
		}
		if d <= 0 {
			return errors.New("it must be more than 0, such as 30s")
		}
		l.Limit = d
		return nil
	})
}

// Open implements runtime.Loader.
func (l *Loader) Open(info *runtime.DeviceInfo, index int, s *runtime.Supervisor) (runtime.Device, error) {
	in, err := newInstance(l.Validate)
	if err != nil {
		return nil, err
	}
	p, err := in.choose(l.Device, info.Name)
	if err != nil {
		in.close()
		return nil, err
	}
	d := &device{
		instance: in, physical: p, info: info, index: index, supervisor: s, limit: l.Limit,
		report: l.Progress, unmapped: l.unmapped, hidden: l.hidden,
	}
	if d.limit == 0 {
		d.limit = p.patience()
	}
	if err := d.open(l.Needs); err != nil {
		return nil, errors.Join(err, d.destroy())
	}
	return d, nil
}
