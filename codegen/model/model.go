package model

import (
	"io"
	"io/fs"
	"log/slog"

	"github.com/ggmlc/ggmlc/runtime"
)

// Errors that errors.Is recognizes. Most have a type in package runtime, for errors.As.
var (
	ErrBusy      = runtime.ErrBusy      // two goroutines use one session
	ErrCancelled = runtime.ErrCancelled // the caller's context ended; the error also is that of the context
	ErrClosed    = runtime.ErrClosed    // the model was closed
	ErrFault     = runtime.ErrFault     // a step could not finish: a *runtime.FaultError
	ErrInput     = runtime.ErrInput     // an argument is outside of what the model was compiled for
	ErrNumerics  = runtime.ErrNumerics  // a step produced NaN where a number is needed
	ErrWeights   = runtime.ErrWeights   // weights are missing, cut or other ones: a *runtime.WeightsError
	//api:if language
	ErrContextFull = runtime.ErrContextFull // the context has no room: a *runtime.ContextError
	//api:end
	//api:if language states
	ErrSaved = runtime.ErrSaved // a saved sequence is damaged or of another program: a *runtime.SavedError
	//api:end
	//api:if chat
	ErrTemplate = runtime.ErrTemplate // the chat template is missing, wrong, or refuses the messages
	//api:end
)

// Options configure how the model is opened. The zero Options are good defaults.
type Options struct {
	// Threads is how many threads compute; 0 is one for each core that the process may use. Results do not depend on
	// it.
	Threads int

	// Weights is a file of weights that the compiler wrote for this plan: with the flag --weights, or because they are
	// too large to be embedded. The weights.bin that the package embeds is none. "" is the place that the compiler
	// chose.
	Weights string

	// WeightsBytes, WeightsReader and WeightsFS give the contents of the weights file in place of its name: bytes, a
	// reader of WeightsSize bytes (0: the reader has a method Size), or a file system in which Weights is the name.
	// They are checked as a file is. At most one of them is set.
	WeightsBytes  []byte
	WeightsReader io.ReaderAt
	WeightsSize   int64
	WeightsFS     fs.FS

	// Verify makes Open hash weights of any size. Without it, those of at most 64 MiB are hashed, and a changed byte in
	// larger ones gives wrong results and no error.
	Verify bool

	// Logger, if not nil, gets what happens, maybe from several goroutines at once: the model is opened and closed
	// (info), a step fails (error).
	//api:if language
	// A generation ends (debug) or fails (warning).
	//api:end
	Logger *slog.Logger

	// Metrics, if not nil, gets figures of all work.
	Metrics Metrics

	// Timeline, if not nil, gets what the queues of devices have done, in the Trace Event Format, when the model is
	// closed.
	Timeline io.Writer

	// Observe, if not nil, is called in each step with the values that ggmlc gen --observe REGEX names, as soon as they
	// are computed. A value is valid until the call returns. Steps wait for it. An error ends the step there.
	Observe func(node string, step int, value runtime.Array) error

	// Steady runs each step on all threads, Poison fills activations with NaN before each step. Both are for tests.
	Steady, Poison bool
}

// runtime returns the options as package runtime has them.
func (o Options) runtime() runtime.Options {
	r := runtime.Options{
		Threads: o.Threads, Weights: o.Weights,
		WeightsBytes: o.WeightsBytes, WeightsReader: o.WeightsReader, WeightsSize: o.WeightsSize, WeightsFS: o.WeightsFS,
		Verify: o.Verify, Timeline: o.Timeline, Observe: o.Observe, Steady: o.Steady, Poison: o.Poison,
	}
	if o.Logger != nil {
		r.Logger = o.Logger
	}
	if o.Metrics != nil {
		r.Metrics = metrics{o.Metrics}
	}
	return r
}

// Model is the model with its weights and its threads. All its methods may be called by several goroutines at once; the
// steps of its sessions run one after another.
type Model struct{ m *runtime.Model }

// Open checks the weights and starts the threads. Close ends them.
func Open(o Options) (*Model, error) {
	m, err := runtime.Open(&program, o.runtime())
	if err != nil {
		return nil, err
	}
	return &Model{m}, nil
}

// Close waits for the step in progress and gives back the threads and the weights. Other calls, also those that wait,
// then return ErrClosed.
func (m *Model) Close() error { return m.m.Close() }

// Threads returns how many threads the model has.
func (m *Model) Threads() int { return m.m.Threads() }

// SetThreads changes the number of threads for later steps: 0 is one for each core. It waits for the step in progress.
func (m *Model) SetThreads(n int) error { return m.m.SetThreads(n) }

// Verify reads all weights and compares their SHA-256 with the one that was compiled in. Steps run meanwhile.
func (m *Model) Verify() error { return m.m.Verify() }

// Name returns the name of the model.
func (m *Model) Name() string { return program.Name }

// PlanID returns the identity of the plan: a hash of the plan and of the model file.
func (m *Model) PlanID() string { return program.PlanID }

// Plan returns the plan as text: what runs where, and its memory.
func (m *Model) Plan() string { return program.PlanText }

// PlanJSON returns the plan as a JSON document.
func (m *Model) PlanJSON() string { return program.PlanJSON }

// Session is one user of the model. It is for one goroutine at a time: a call while another one is in progress returns
// ErrBusy. It holds memory and no other resources.
type Session struct{ s *runtime.Session }

// NewSession returns a session with an empty state. It needs no Close.
func (m *Model) NewSession() (*Session, error) {
	s, err := m.m.NewSession()
	if err != nil {
		return nil, err
	}
	return &Session{s}, nil
}

// Runtime returns the session of package runtime, which has methods for rarer uses.
func (s *Session) Runtime() *runtime.Session { return s.s }
