//go:build linux

package cudasim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
)

// Config describes the driver and its devices.
type Config struct {
	Version int // 1000*major + 10*minor; 0 is 12.8
	Devices []Device

	// Fault returns the result that a call gets in place of being made, or 0. n counts calls from 1; nil is no fault.
	Fault func(name string, n int) uint32

	// Hang reports whether the work that a call submits has no end, until Stop; nil is never.
	Hang func(name string) bool
}

// Device is a GPU.
type Device struct {
	Name       string
	Memory     uint64
	Capability int   // 10*major + minor
	Lacks      int32 // an optional attribute that the device lacks; 0 is none
}

// Default is one device with everything that programs need.
func Default() Config {
	return Config{Devices: []Device{{Name: "Simulated GPU", Memory: 1 << 30, Capability: 90}}}
}

// Results of calls, as in cuda.h.
const (
	success            = 0
	invalidValue       = 1
	outOfMemory        = 2
	notInitialized     = 3
	noDevice           = 100
	invalidDevice      = 101
	invalidContext     = 201
	noBinary           = 209
	invalidPTX         = 218
	invalidHandle      = 400
	illegalState       = 401
	notFound           = 500
	notReady           = 600
	illegalAddress     = 700
	outOfResources     = 701
	alreadyRegistered  = 712
	notRegistered      = 713
	captureUnsupported = 900
	captureInvalidated = 901
	captureMerge       = 902
	captureUnmatched   = 903
	captureUnjoined    = 904
	captureIsolation   = 905
	capturedEvent      = 907
)

// Driver is a simulated driver.
type Driver struct {
	Config
	stop atomic.Bool // kernels end early

	mu         sync.Mutex
	changed    sync.Cond
	calls      map[string]int
	total      int
	faults     map[int]int // calls that were not made, by thread
	problems   []string
	sticky     uint32 // what all calls return after a failure on the device
	started    bool
	retained   []int          // by device
	current    map[int]uint64 // context by thread
	next       uint64         // handle
	objects    map[uint64]any // by handle
	memory     atomic.Pointer[[]*allocation]
	pinned     []*hostAllocation
	registered []*registered
	inUse      uint64
	running    int // operations of streams that are not done
	seed       int64
	captured   []*graph
}

// New returns a driver.
func New(c Config) *Driver {
	if c.Version == 0 {
		c.Version = 12080
	}
	d := &Driver{Config: c, calls: make(map[string]int), current: make(map[int]uint64), objects: make(map[uint64]any), faults: make(map[int]int), next: 1 << 20, retained: make([]int, len(c.Devices))}
	d.changed.L = &d.mu
	d.memory.Store(new([]*allocation))
	return d
}

// Stop ends work that has no end.
func (d *Driver) Stop() {
	d.stop.Store(true)
	d.mu.Lock()
	d.changed.Broadcast()
	d.mu.Unlock()
}

// Problems returns what is wrong with how the driver was used.
func (d *Driver) Problems() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.problems)
}

// Calls returns how often a function was called.
func (d *Driver) Calls(name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[name]
}

// Names returns the functions that were called.
func (d *Driver) Names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.calls))
}

// Live returns the objects that were not freed, by kind.
func (d *Driver) Live() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	live := make(map[string]int)
	for _, o := range d.objects {
		live[fmt.Sprintf("%T", o)]++
	}
	for _, n := range d.retained {
		if n > 0 {
			live["context"] += n
		}
	}
	if n := len(*d.memory.Load()); n > 0 {
		live["memory"] = n
	}
	if n := len(d.pinned); n > 0 {
		live["pinned"] = n
	}
	if n := len(d.registered); n > 0 {
		live["registered"] = n
	}
	return live
}

// problem notes a wrong use. With mu.
func (d *Driver) problem(format string, args ...any) {
	d.problems = append(d.problems, fmt.Sprintf(format, args...))
}

// begin begins a call that needs no context. It returns with mu.
func (d *Driver) begin(name string) uint32 {
	d.mu.Lock()
	d.calls[name]++
	d.total++
	if d.Fault != nil {
		if r := d.Fault(name, d.total); r != 0 {
			d.faults[syscall.Gettid()]++
			return r
		}
	}
	if !d.started && name != "cuInit" && name != "cuDriverGetVersion" {
		d.problem("%s before cuInit", name)
		return notInitialized
	}
	return success
}

// refused is the context of a thread for which none could be made current.
const refused = ^uint64(0)

// beginIn begins a call that needs a current context. It returns with mu.
func (d *Driver) beginIn(name string) uint32 {
	if r := d.begin(name); r != success {
		return r
	}
	c := d.current[syscall.Gettid()]
	if c == refused {
		return invalidContext
	}
	if c == 0 || d.retained[c-1] == 0 {
		d.problem("%s without a current context", name)
		return invalidContext
	}
	return d.sticky
}

// end ends a call.
func (d *Driver) end(r uint32) uintptr {
	d.mu.Unlock()
	return uintptr(r)
}

// add returns a handle for an object. With mu.
func (d *Driver) add(o any) uint64 {
	d.next += 8
	d.objects[d.next] = o
	return d.next
}

// object returns the object of a handle. With mu.
func object[T any](d *Driver, call string, h uintptr) (T, bool) {
	o, ok := d.objects[uint64(h)].(T)
	if !ok {
		d.problem("%s: %#x is no %T, or was freed", call, h, o)
	}
	return o, ok
}

// allocation is memory of the device.
type allocation struct {
	address uint64
	bytes   []byte
}

// hostAllocation is pinned memory of the host.
type hostAllocation struct {
	address uintptr
	bytes   []byte
}

// At implements ptx.Memory.
func (d *Driver) At(address uint64, n int) []byte {
	if address >= mappedAt {
		return d.atMapped(address, n)
	}
	list := *d.memory.Load()
	i, found := slices.BinarySearchFunc(list, address, func(a *allocation, at uint64) int { return cmp.Compare(a.address, at) })
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	if a := list[i]; address-a.address <= uint64(len(a.bytes)) && uint64(n) <= uint64(len(a.bytes))-(address-a.address) {
		return a.bytes[address-a.address:][:n]
	}
	return nil
}
