package cuda

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ggmlc/ggmlc/runtime"
)

// Options control a device. The zero Options choose the device.
type Options struct {
	Device string        // numbers or parts of names, separated by commas, for several targets; "" are those with the most memory
	Limit  time.Duration // the longest wait without progress; 0 is 10 s

	// Progress is told how much of an upload is done, of data larger than the staging memory; nil is not.
	Progress func(done, total int64)

	// Symbol returns the address of a function of the driver's library; nil opens the library that is installed.
	Symbol func(name string) (uintptr, error)
}

// defaultLimit is about as long as systems with a screen wait before they reset a GPU.
const defaultLimit = 10 * time.Second

// Loader opens GPUs that the CUDA driver has, one after the other.
type Loader struct {
	Options

	registered *registrations // of all its devices; made by the first Open
}

// Flags adds --cuda-device and --cuda-timeout to a program's command line.
func (l *Loader) Flags(add func(name, value, help string, set func(string) error)) {
	add("cuda-device", "N", "the CUDA device, by number or a part of its name; several targets: a list with commas (default: the one with the most memory, for cuda:1 the next one)", func(s string) error {
		if slices.Contains(strings.Split(s, ","), "") {
			return errors.New("it must be a number or a part of a name, or several with commas")
		}
		l.Device = s
		return nil
	})
	add("cuda-timeout", "D", "the longest wait for a CUDA device without progress (default: 10s)", func(s string) error {
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
	find := l.Symbol
	if find == nil {
		var err error
		if find, err = openLibrary(); err != nil {
			return nil, err
		}
	}
	driver, err := newDriver(find)
	if err != nil {
		return nil, err
	}
	p, err := driver.choose(l.Device, info.Name)
	if err != nil {
		return nil, err
	}
	if l.registered == nil {
		l.registered = new(registrations)
	}
	d := &device{driver: driver, physical: p, info: info, index: index, supervisor: s, limit: l.Limit, report: l.Progress, registered: l.registered}
	if d.limit == 0 {
		d.limit = defaultLimit
	}
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.destroy())
	}
	return d, nil
}
