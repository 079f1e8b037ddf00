package model

import (
	"time"

	"github.com/ggmlc/ggmlc/runtime"
)

// Metrics gets figures of the model's work, for monitoring. Its methods are called by the goroutines that use sessions,
// several at once, and delay them: they should count and return. They must not use the model or its sessions.
type Metrics interface {
	// Step is called when a step has ended, also with an error.
	Step(StepMetrics)

	//api:if language
	// Generated is called at the end of each generation, also one that ended with an error.
	Generated(Summary)
	//api:end
}

// StepMetrics are the figures of a piece of the model's work: a call of a function, a prompt, or a token of one or more
// sessions.
type StepMetrics struct {
	Func     string        // the entry point, as the plan names it
	Tokens   int           // that were run; 0 for functions that take none
	Sessions int           // whose tokens they are
	Time     time.Duration // with the wait for steps of other sessions
	Err      error         // nil: it succeeded
}

// metrics hands on to Metrics.
type metrics struct{ to Metrics }

// Step hands a step on.
func (m metrics) Step(s runtime.StepMetrics) { m.to.Step(StepMetrics(s)) }

// Generated hands the summary of a generation on.
func (m metrics) Generated(s runtime.Summary) {
	//api:if language
	m.to.Generated(summaryOf(s))
	//api:end
}
