package explain

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// RingSummary is the states that keep the last positions of a sequence only, as layers with sliding windows need no
// others.
type RingSummary struct {
	States    int   `json:"states"`
	Rows      int64 `json:"rows"`      // positions that each keeps
	Positions int64 `json:"positions"` // of a sequence
	Window    int64 `json:"window"`    // that a token reads
	Bytes     int64 `json:"bytes"`
	Saved     int64 `json:"saved_bytes"` // that all positions would take in addition
}

// rings returns the states that keep the last positions only; nil if there are none.
func (x *explainer) rings() *RingSummary {
	if x.m.LM == nil {
		return nil
	}
	s := RingSummary{Positions: x.m.Context()}
	s.Rows, s.Window = x.m.Ring()
	states := x.m.RingStates()
	if len(states) == 0 {
		return nil
	}
	s.States = len(states)
	for _, state := range states {
		s.Bytes += state.Type.MaxBytes()
	}
	s.Saved = ir.RingSaves(x.m)
	return &s
}

// ringStates writes what rings save.
func (t *explainText) ringStates(s *RingSummary) {
	t.line(1, "%s of sliding windows of %d keep the last %d of %d positions: %s, %s less than all of them (--whole-cache)",
		plural(int64(s.States), "state", "states"), s.Window, s.Rows, s.Positions, pass.BytesText(s.Bytes), pass.BytesText(s.Saved))
}
