package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	goruntime "runtime"
	"strings"
	"sync"
	"time"

	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/runtime/grammar"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// Options control how a model is opened. The zero Options are good defaults.
type Options struct {
	// Threads is the number of workers. 0 means one per core that the process may use. It is limited to GOMAXPROCS
	// and to the bound for which the program was planned. Results do not depend on it. In a program with groups of
	// threads it is the largest number of each of them, and 0 means one per core of the group.
	Threads int

	// Weights is the weights file, or an executable that weights were appended to. "" means the place that the compiler
	// chose: the program's data, the end of the executable, or Program.Weights.External.
	Weights string

	// WeightsBytes, WeightsReader and WeightsFS give the contents of a weights file in place of its name: bytes, a
	// reader of WeightsSize bytes (0: the reader has a method Size), or a file system in which Weights is the name.
	// Length, plan and hash are checked as those of a file. Bytes of which the weights begin at a multiple of Align, or
	// of the page size in a program with devices, are used in place and must not change before Close; others are
	// copied.
	WeightsBytes  []byte
	WeightsReader io.ReaderAt
	WeightsSize   int64
	WeightsFS     fs.FS

	// Verify makes Open compute the SHA-256 of weights of any size, which reads all of them. Without it, only weights
	// of at most 64 MiB are hashed, and larger ones are not read by Open.
	Verify bool

	// Steady makes every step run on all workers that its function allows, even if a single worker has been measured
	// to be faster. It is for tests.
	Steady bool

	// Poison fills activations with NaN before every step, so that a read of bytes that the step has not written
	// shows in the results. It is for tests and costs a pass over the arena.
	Poison bool

	// Logger, if not nil, gets what happens: the model is opened and closed (info), a generation ends (debug) or fails
	// (warning), a step fails (error).
	Logger Logger

	// Metrics, if not nil, gets figures of steps and generations.
	Metrics Metrics

	// Timeline, if not nil, receives what the queues of the program's devices have done, in the Trace Event Format
	// (JSON), when the model is closed.
	Timeline io.Writer

	// Observe, if not nil, receives the values that the program was compiled to hand out, with --observe.
	Observe Observer

	observeTo string // the folder for observed values; "" for none

	profiled bool // a profile of the queues is wanted
}

// Model is a compiled program with its weights and its workers, ready to run. Several goroutines may use it; their
// steps run one at a time, in the order of the calls. Close releases the workers and the mapping.
type Model struct {
	program *Program
	weights weights
	pool    *pool
	paces   []paces // indexed by function; used only by the goroutine whose turn it is in the pool
	options Options
	decode  *driver // nil if the program is no language model
	prefill *driver
	joint   *driver               // nil if sequences take no steps together
	top     *topDriver            // nil if steps return all logits only
	vocab   *token.Vocab          // nil without tokenizer
	pieces  func() *grammar.Vocab // made when a grammar is first used
	own     func() (ownGrammar, error)
	devices opened        // nil without devices
	closed  chan struct{} // closed by Close
	cores   int           // threads of the host if it has cores of its own, else 0
	notes   []string
	watcher watcher // nil if no values are observed

	reading   sync.RWMutex // of weights, by Verify and Close
	observing sync.Mutex   // held while a step is observed
	steps     int          // that were observed
}

// Open checks and maps the weights and starts the workers. Weights of at most 64 MiB are hashed, and refused if a
// single byte differs from the compiled ones. Of larger weights only the length, the plan and the recorded hash are
// compared, unless Options.Verify is set: a changed byte in them causes wrong results and no error. The error is a
// *WeightsError or matches ErrInput.
func Open(p *Program, o Options) (*Model, error) {
	begin := time.Now()
	p.check()
	if o.Threads < 0 {
		return nil, inputError("%d threads: at least 1, or 0 for one per core", o.Threads)
	}
	if err := p.selectKernels(); err != nil {
		return nil, err
	}
	watcher, err := o.watch(p)
	if err != nil {
		return nil, err
	}
	w, err := openWeights(p, o)
	if err != nil {
		return nil, err
	}
	m := &Model{watcher: watcher, program: p, weights: w, options: o, paces: make([]paces, len(p.Funcs)), closed: make(chan struct{})}
	if p.Tokenizer != "" {
		if m.vocab, err = token.Load(p.Tokenizer); err != nil {
			return nil, errors.Join(fmt.Errorf("tokenizer: %w", err), w.close())
		}
		if p.LM != nil && m.vocab.Size() != p.LM.Vocab {
			p.broken("the tokenizer has %d ids, LM %d", m.vocab.Size(), p.LM.Vocab)
		}
		m.own = sync.OnceValues(m.loadGrammar)
		m.pieces = sync.OnceValue(func() *grammar.Vocab { return grammar.NewVocab(m.vocab) })
	}
	if lm := p.LM; lm != nil {
		m.prefill, m.decode = newDriver(p, &lm.Prefill), newDriver(p, &lm.Decode)
		if lm.Joint != nil {
			m.joint = newDriver(p, lm.Joint)
		}
		if lm.Top != nil {
			m.top = newTopDriver(p, lm.Top)
		}
	}
	if p.Devices != nil {
		if m.devices, err = p.Devices.open(m); err != nil {
			return nil, errors.Join(&DeviceError{err}, w.close())
		}
	}
	m.startPool()
	m.opened(begin)
	return m, nil
}

// startPool makes the host's pool of workers.
func (m *Model) startPool() {
	p := m.program
	var cores []int
	if len(p.Cores) > 0 {
		var note string
		if cores, m.cores, note = useCores("the host", p.Cores); note != "" {
			m.notes = append(m.notes, note)
		}
	}
	m.pool = newPool(m.workers(m.options.Threads), p.ScratchBytes)
	m.pool.bindTo(cores)
	if m.devices != nil {
		m.notes = append(m.notes, m.devices.notes()...)
		m.devices.share(m.pool)
	}
}

// Notes returns what the user of the program should know about how it runs on this machine, such as that cores are
// missing. It is empty where all is as compiled.
func (m *Model) Notes() []string { return m.notes }

// selectKernels chooses the most demanding kernels that the program allows and the processor has, and their tiles.
func (p *Program) selectKernels() error {
	for _, c := range p.Tiles {
		cpu.Choose(c)
	}
	if cpu.SelectAmong(p.CPU) {
		return nil
	}
	return fmt.Errorf("this program was compiled for %s, and this processor has %s: compile it again without --cpu",
		strings.Join(p.CPU, ", "), strings.Join(cpu.Available(), ", "))
}

// threads limits the wanted number of workers to one per processor.
func threads(p *Program, wanted int) int {
	limit := min(p.maxThreads(), goruntime.GOMAXPROCS(0))
	if wanted == 0 {
		return usualThreads(limit)
	}
	return min(wanted, limit)
}

// workers limits the wanted number of workers, as threads does, and to one per core if the host has cores of its own.
func (m *Model) workers(wanted int) int {
	if m.cores == 0 {
		return threads(m.program, wanted)
	}
	most := min(m.cores, m.program.maxThreads())
	if wanted == 0 {
		return most
	}
	return min(wanted, most)
}

// Program returns the description from which the model was opened.
func (m *Model) Program() *Program { return m.program }

// Threads returns the number of workers, which may be less than Options.Threads.
func (m *Model) Threads() int { return int(m.pool.limit.Load()) }

// Vocab returns the tokenizer, or nil for a program without one.
func (m *Model) Vocab() *token.Vocab { return m.vocab }

// Verify reads all weights, including embedded ones, and compares their SHA-256 with the one compiled in. Close waits
// for it.
func (m *Model) Verify() error {
	m.reading.RLock()
	defer m.reading.RUnlock()
	if m.pool.queue.isClosed() {
		return ErrClosed
	}
	if m.program.Weights.Size == 0 {
		return nil
	}
	return m.weights.verify(m.program.Weights.SHA256)
}

// Close waits for the step in progress, then ends the workers and unmaps the weights. Steps that wait or begin later
// return ErrClosed. Logits that were returned earlier remain valid.
func (m *Model) Close() error {
	if !m.pool.close() {
		return ErrClosed
	}
	close(m.closed)
	err := m.release()
	m.gone(err)
	return err
}

// release closes the devices and unmaps the weights.
func (m *Model) release() error {
	m.reading.Lock()
	defer m.reading.Unlock()
	if m.devices != nil {
		if err := m.devices.close(); err != nil {
			return err // a device that could not be closed may still read the weights
		}
	}
	return m.weights.close()
}

// run runs one step of a session.
func (m *Model) run(ctx context.Context, s *Session, fn int) error {
	f, c := &m.program.Funcs[fn], m.paces[fn].of(&s.args)
	if m.options.Steady || m.watcher != nil {
		c = nil // the time of a step that is observed is that of the observer
	}
	if err := m.pool.run(ctx, s.ticket, f, &s.args, c); err != nil {
		return m.blame(err)
	}
	return nil
}

// blame adds the name of the weights file to a fault in its mapping.
func (m *Model) blame(err error) error {
	var fe *FaultError
	if errors.As(err, &fe) && m.weights.contains(fe.Addr) {
		fe.Weights = m.weights.file
	}
	return err
}
