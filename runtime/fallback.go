package runtime

import (
	"errors"
	"strings"

	"github.com/ggmlc/ggmlc/runtime/printable"
)

// openSession opens a model and a session. If a device cannot be opened and the program has a fallback, that is opened
// instead. A program with a fallback reports which of the two runs.
func (c *cli) openSession() (*Session, error) {
	s, err := openWith(c.program, c.options)
	next := c.program.Fallback
	if next == nil || c.program.Devices == nil {
		return s, err
	}
	if err == nil {
		c.note("runs-on", "runs on %s", printable.Line(strings.Join(c.program.Devices.names(), ", ")))
		return s, nil
	}
	var device *DeviceError
	if !errors.As(err, &device) || errors.Is(err, ErrWeights) {
		return nil, err
	}
	c.note("runs-on", "runs on the processor alone, by the plan of --fallback: %v", err)
	c.program = next
	return openWith(next, c.options)
}

// openWith opens a model and a session of it.
func openWith(p *Program, o Options) (*Session, error) {
	m, err := Open(p, o)
	if err != nil {
		return nil, err
	}
	s, err := m.NewSession()
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return s, nil
}

// plans returns the text of the program's plan, and of that of its fallback.
func (p *Program) plans() string {
	if p.Fallback == nil {
		return p.PlanText
	}
	return strings.TrimSuffix(p.PlanText, "\n") + "\n\nfallback\n" + p.Fallback.PlanText
}

// planDocument returns the JSON document of the program's plan. That of its fallback is its last member.
func (p *Program) planDocument() string {
	if p.Fallback == nil {
		return p.PlanJSON
	}
	own := strings.TrimSuffix(strings.TrimSpace(p.PlanJSON), "}")
	return strings.TrimSpace(own) + ",\n  \"fallback\": " + strings.TrimSpace(p.Fallback.PlanJSON) + "\n}"
}
