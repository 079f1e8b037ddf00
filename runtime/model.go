package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	goruntime "runtime"
	"strings"

	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// Options are what a caller may decide when a model is opened. The zero Options are good.
type Options struct {
	// Threads is how many workers the pool has: 0 means one per core that the process may
	// use, and more than GOMAXPROCS or than the program was planned for is cut. Results do not depend on it.
	Threads int

	// Weights is the weights file. "" means where the compiler put them: in the
	// program's data, at the end of the executable, or in Program.Weights.External.
	Weights string

	// Verify makes Open compute the SHA-256 of weights of any size, which reads all of them.
	// Without it, only weights of at most 64 MiB are hashed: larger ones are used unread.
	Verify bool

	// Steady makes every step run on all workers that its function allows, even where one
	// alone has been measured to be faster. For tests.
	Steady bool

	// Poison fills activations with NaN before every step, so that a read of bytes that
	// this step did not write shows. For tests; it costs a pass over the arena.
	Poison bool

	// Timeline, if it is not nil, gets what the queues of the program's devices have done, in
	// the Trace Event Format (JSON), when the model is closed.
	Timeline io.Writer
}

// Model is a compiled program with its weights and its workers, ready to run. It may be
// used from several goroutines; their steps queue for the one pool, first come, first
// served. Close gives back the workers and the mapping.
type Model struct {
	program *Program
	weights weights
	pool    *pool
	paces   []paces // of each function; whoever has the pool's turn may use them
	options Options
	decode  *driver // nil without a language model
	prefill *driver
	vocab   *token.Vocab // nil without a tokenizer
	devices opened       // nil without devices
}

// Open checks and maps the weights and starts the workers. Weights of at most 64 MiB are
// hashed, and one that differs from the compiled one in a single byte is refused. Of larger
// weights only the length, the plan and the recorded hash are compared, unless
// Options.Verify is set: a changed byte in them gives wrong results and no error. The error is
// a *WeightsError or matches ErrInput.
func Open(p *Program, o Options) (*Model, error) {
	p.check()
	if o.Threads < 0 {
		return nil, inputError("%d threads: at least 1, or 0 for one per core", o.Threads)
	}
	if err := p.selectKernels(); err != nil {
		return nil, err
	}
	w, err := openWeights(p, o)
	if err != nil {
		return nil, err
	}
	m := &Model{program: p, weights: w, options: o, paces: make([]paces, len(p.Funcs))}
	if p.Tokenizer != "" {
		if m.vocab, err = token.Load(p.Tokenizer); err != nil {
			return nil, errors.Join(fmt.Errorf("tokenizer: %w", err), w.close())
		}
		if p.LM != nil && m.vocab.Size() != p.LM.Vocab {
			p.broken("the tokenizer has %d ids, LM %d", m.vocab.Size(), p.LM.Vocab)
		}
	}
	if lm := p.LM; lm != nil {
		m.prefill, m.decode = newDriver(p, &lm.Prefill), newDriver(p, &lm.Decode)
	}
	if p.Devices != nil {
		if m.devices, err = p.Devices.open(m); err != nil {
			return nil, errors.Join(err, w.close())
		}
	}
	m.pool = newPool(threads(p, o.Threads), p.ScratchBytes)
	return m, nil
}

// selectKernels chooses the most demanding of the kernels that the program is limited to,
// and their tiles.
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

// threads cuts the wanted number to one worker per processor.
func threads(p *Program, wanted int) int {
	limit := min(p.maxThreads(), goruntime.GOMAXPROCS(0))
	if wanted == 0 {
		return usualThreads(limit)
	}
	return min(wanted, limit)
}

// Program returns the emitted description that the model was opened from.
func (m *Model) Program() *Program { return m.program }

// Threads returns the number of workers, which may be less than Options.Threads.
func (m *Model) Threads() int { return len(m.pool.workers) }

// Vocab returns the tokenizer, or nil for a program without one.
func (m *Model) Vocab() *token.Vocab { return m.vocab }

// Verify reads all weights and compares their SHA-256 with the one compiled in. The
// embedded ones are part of the program; they are compared too.
func (m *Model) Verify() error {
	if m.program.Weights.Size == 0 {
		return nil
	}
	return m.weights.verify(m.program.Weights.SHA256)
}

// Close waits for the step in progress, then ends the workers and unmaps the weights.
// Steps that wait or come later return ErrClosed; logits already returned stay valid.
func (m *Model) Close() error {
	if !m.pool.close() {
		return ErrClosed
	}
	if m.devices != nil {
		return errors.Join(m.devices.close(), m.weights.close())
	}
	return m.weights.close()
}

// run does one step for a session.
func (m *Model) run(ctx context.Context, s *Session, fn int) error {
	f, c := &m.program.Funcs[fn], m.paces[fn].of(&s.args)
	if m.options.Steady {
		c = nil
	}
	if err := m.pool.run(ctx, s.ticket, f, &s.args, c); err != nil {
		return m.blame(err)
	}
	return nil
}

// blame adds to a fault in the mapped weights the file that caused it.
func (m *Model) blame(err error) error {
	var fe *FaultError
	if errors.As(err, &fe) && m.weights.contains(fe.Addr) {
		fe.Weights = m.weights.file
	}
	return err
}
