package cuda

import (
	"bytes"
	"fmt"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// modules are the compiled kernels of a device, made when they are first recorded.
type modules struct {
	lock   sync.Mutex
	made   map[*gpu.Kernel]compiled
	loaded []handle
}

// compiled is a kernel for the device.
type compiled struct {
	function handle
	threads  int // of a workgroup
}

// kernel returns a kernel for the device. The context is current.
func (d *device) kernel(k *gpu.Kernel) (compiled, error) {
	d.modules.lock.Lock()
	defer d.modules.lock.Unlock()
	if f, ok := d.modules.made[k]; ok {
		return f, nil
	}
	f, err := d.compile(k)
	if err != nil {
		return f, fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	if d.modules.made == nil {
		d.modules.made = make(map[*gpu.Kernel]compiled)
	}
	d.modules.made[k] = f
	return f, nil
}

// Options of the compiler in the driver, and the size of its log.
const (
	jitErrorLog      = 5 // CU_JIT_ERROR_LOG_BUFFER
	jitErrorLogBytes = 6 // CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
	logBytes         = 8 << 10
)

// compile gives the code of a kernel to the driver, which keeps the result in a cache of its own.
func (d *device) compile(k *gpu.Kernel) (f compiled, err error) {
	code := moduleFor(k.Code, d.physical.capability)
	entry := between(code, ".entry ", "(")
	if f.threads, err = strconv.Atoi(between(code, ".reqntid ", ",")); entry == "" || err != nil {
		return f, fmt.Errorf("%d bytes that are no PTX", len(k.Code))
	}
	f.function, err = d.load(code, entry)
	return f, err
}

// load returns a function of PTX text.
func (d *device) load(code, entry string) (handle, error) {
	text, log := append([]byte(code), 0), make([]byte, logBytes)
	options := []uint32{jitErrorLog, jitErrorLogBytes}
	var pinner goruntime.Pinner
	defer pinner.Unpin()
	pinner.Pin(&log[0])
	values := []uintptr{uintptr(unsafe.Pointer(&log[0])), uintptr(len(log))}
	module := new(handle)
	r := d.moduleLoad.call(uintptr(unsafe.Pointer(module)), uintptr(unsafe.Pointer(&text[0])), uintptr(len(options)),
		uintptr(unsafe.Pointer(&options[0])), uintptr(unsafe.Pointer(&values[0])))
	if err := r.failed("cuModuleLoadDataEx"); err != nil {
		if slices.Contains(refusals, r) {
			err = fmt.Errorf("the driver refuses the PTX: %w", err)
		}
		return 0, withLog(err, log)
	}
	d.modules.loaded = append(d.modules.loaded, *module)
	f, name := new(handle), append([]byte(entry), 0)
	err := d.moduleGetFunction.call(uintptr(unsafe.Pointer(f)), uintptr(*module), uintptr(unsafe.Pointer(&name[0]))).failed("cuModuleGetFunction")
	return *f, err
}

// withLog adds what the compiler wrote to an error.
func withLog(err error, log []byte) error {
	if end := bytes.IndexByte(log, 0); end >= 0 {
		log = log[:end]
	}
	if text := strings.TrimSpace(string(log)); text != "" {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return err
}

// refusals are the results of modules that the driver's compiler does not take.
var refusals = []result{invalidImage, noBinary, invalidPTX, unsupportedPTX}

// version begins a module of PTX.
const version = ".version "

// moduleFor returns the last of several modules, one after the other, that runs on a compute capability: one that is
// for it or for an earlier one, or, if its target ends with a, for exactly it.
func moduleFor(code string, capability int) (best string) {
	for code != "" {
		end := len(code)
		if next := strings.Index(code[1:], version); next >= 0 {
			end = next + 1
		}
		if best == "" || runsOn(between(code, ".target sm_", "\n"), capability) {
			best = code[:end]
		}
		code = code[end:]
	}
	return best
}

// runsOn reports whether a module for a target, without sm_, runs on a compute capability. Later ones do not have what
// the architecture of a target with an a has beyond others.
func runsOn(target string, capability int) bool {
	digits, exact := strings.CutSuffix(target, "a")
	sm, err := strconv.Atoi(digits)
	return err == nil && (sm == capability || sm < capability && !exact)
}

// between returns the text after the first mark, up to another one, or "".
func between(text, mark, end string) string {
	_, after, _ := strings.Cut(text, mark)
	found, _, ok := strings.Cut(after, end)
	if !ok {
		return ""
	}
	return strings.TrimSpace(found)
}

func (m *modules) destroy(d *device) {
	for _, h := range m.loaded {
		d.moduleUnload.call(uintptr(h))
	}
	m.loaded, m.made = nil, nil
}
