package mem

// effort counts the decisions of a search, and ends a run.
type effort struct {
	tried int64 // decisions in all runs
	left  int64 // decisions until the run ends
	halt  func() bool
}

// spend counts a decision. It returns false if the run has to end instead.
func (e *effort) spend() bool {
	if e.left--; e.left < 0 || e.tried%1024 == 1023 && e.halt() {
		return false
	}
	e.tried++
	return true
}

// outcome is the result of a search.
type outcome uint8

const (
	failed  outcome = iota // there is no packing
	solved                 // there is one, and it was found
	stopped                // the budget is used up, or halt reported so
)
