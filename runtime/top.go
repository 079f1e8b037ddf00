package runtime

import (
	"context"
	"fmt"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime/sample"
)

// topDriver is an entry that returns the most probable tokens only. The logits of its driver are those of these tokens.
type topDriver struct {
	driver
	ids, largest *Tensor
	k            int // tokens of each part of the vocabulary
	part         int // tokens in a part
}

func newTopDriver(p *Program, e *TopEntry) *topDriver {
	f := &p.Funcs[e.Func]
	ids := &f.Outputs[e.IDs]
	return &topDriver{*newDriver(p, &e.Entry), ids, &f.Outputs[e.Largest], ids.Dims[1].Const, p.LM.Vocab / ids.Dims[0].Const}
}

// checkTop panics when the entry that returns the most probable tokens has a shape that steps cannot drive.
func (p *Program) checkTop(e *TopEntry) {
	most := p.checkEntry(&e.Entry)
	f := &p.Funcs[e.Func]
	if most != 1 || e.IDs < 0 || e.IDs >= len(f.Outputs) {
		p.broken("%s: it takes %d tokens, and returns ids as output %d of %d", f.Name, most, e.IDs, len(f.Outputs))
	}
	rows := f.Outputs[e.IDs].Dims
	if len(rows) != 2 || rows[0].Scale != 0 || rows[1].Scale != 0 || min(rows[0].Const, rows[1].Const) < 1 ||
		p.LM.Vocab%rows[0].Const != 0 || rows[1].Const > p.LM.Vocab/rows[0].Const {
		p.broken("%s: there is no part of the vocabulary for each of %v ids", f.Name, rows)
	}
	for _, want := range []struct {
		output int
		Tensor
	}{
		{e.IDs, Tensor{Type: dtype.I32, Dims: rows}},
		{e.Logits, Tensor{Type: dtype.F32, Dims: rows}},
		{e.Largest, Tensor{Type: dtype.F32, Dims: []Dim{rows[0], {Const: 1}}}},
	} {
		if uint(want.output) >= uint(len(f.Outputs)) || !f.Outputs[want.output].has(want.Tensor) {
			p.broken("%s: output %d is not %v %v", f.Name, want.output, want.Type, want.Dims)
		}
	}
}

// has reports whether t has the type and the shape of want.
func (t *Tensor) has(want Tensor) bool {
	return t.Type == want.Type && len(t.Dims) == 2 && t.Dims[0] == want.Dims[0] && t.Dims[1] == want.Dims[1]
}

// enough returns the entry whose few logits suffice for the options; nil if all logits are needed.
func (g *generation) enough() *topDriver {
	t := g.s.model.top
	if t == nil || !g.o.NoLogits || g.s.seat != nil || g.matcher != nil || g.o.Sampler != nil || !g.sampling.Suffice(t.k, g.s.model.program.LM.Vocab) {
		return nil
	}
	return t
}

// decodeTop appends one token and sets the tokens that may follow it.
func (s *Session) decodeTop(ctx context.Context, token int32, top *sample.Top) error {
	if err := s.lock(1, after); err != nil {
		return err
	}
	defer s.busy.Store(false)
	one := [1]int32{token}
	if err := s.checkTokens(one[:]); err != nil {
		return err
	}
	t := s.model.top
	err := s.runChunks(ctx, &t.driver, one[:], 1)
	if err == nil {
		*top = sample.Top{IDs: s.Ints(t.ids), Logits: s.Floats(t.logits), Largest: s.Floats(t.largest), Part: int32(t.part)}
		err = t.check(top.IDs)
	}
	return s.supersede(err)
}

// check refuses ids outside of their part of the vocabulary, which a device has returned.
func (t *topDriver) check(ids []int32) error {
	for _, id := range ids {
		if id < 0 || int(id) >= t.part {
			return fmt.Errorf("%w: a step returned token %d of a part of the vocabulary: they are 0 to %d", ErrFault, id, t.part-1)
		}
	}
	return nil
}
