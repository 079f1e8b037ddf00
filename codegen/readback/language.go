package readback

import (
	"github.com/ggmlc/ggmlc/ir"
)

// language compares how the runtime drives a language model with the types of its entries.
func (c *checker) language(got value) {
	lm := c.m.LM
	if lm == nil {
		if got.kind != invalid {
			c.report("program.LM is %v, and the module is no language model", got)
		}
		return
	}
	prefill := c.m.Func(lm.Prefill.Func)
	vocab, _ := prefill.Results[lm.Prefill.Logits].Type.Inner().IsConst()
	want := record{
		"Prefill": c.wantEntry(&lm.Prefill), "Decode": c.wantEntry(&lm.Decode),
		"Vocab": vocab, "Context": c.leastRoom(2), "Sequences": c.leastRoom(0), "Batch": prefill.Params[lm.Prefill.Tokens].Type.Shape[0].Upper(),
		// What bench compares speeds with.
		"PrefillOpsPerToken": anything{}, "PrefillOpsPerStep": anything{}, "DecodeBytes": anything{}, "Peak": anything{},
	}
	if lm.Pooling != ir.NoEmbeddings {
		want["Hidden"], want["Pooling"] = int64(lm.Hidden), lm.Pooling.String()
	}
	if lm.HasJoint() {
		want["Joint"] = c.wantEntry(&lm.Joint)
	}
	if lm.HasTop() {
		want["Top"] = record{"Entry": c.wantEntry(&lm.Top.LanguageEntry), "IDs": int64(lm.Top.IDs), "Largest": int64(lm.Top.Largest)}
	}
	if !got.addr {
		c.report("program.LM is %v", got)
		return
	}
	if ring := c.wantRing(); ring != nil {
		want["Ring"] = ring
	}
	if want["Sequences"] == int64(1) {
		want["Sequences"] = int64(0) // as absent
	}
	for _, wrong := range want.compare("program.LM", got) {
		c.report("%s", wrong)
	}
}

// encoder compares how the runtime drives an encoder with its line in the module.
func (c *checker) encoder(got value) {
	e := c.m.Encoder
	if e == nil || !got.addr {
		if e != nil || got.kind != invalid {
			c.report("program.Encoder is %v", got)
		}
		return
	}
	want := record{
		"Func": c.funcNumber(e.Func), "Tokens": int64(e.Tokens), "Pos": int64(e.Pos), "Last": int64(e.Last),
		"Slot": int64(e.Slot), "Lengths": int64(e.Lengths), "Hidden": int64(e.Hidden), "Pooling": e.Pooling.String(),
	}
	if e.Pooling == ir.PoolRank {
		want["First"], want["Scores"] = int64(e.First), int64(e.Scores)
	}
	for _, wrong := range want.compare("program.Encoder", got) {
		c.report("%s", wrong)
	}
}

// funcNumber returns the index of an entry point; -1 if there is none.
func (c *checker) funcNumber(name string) int64 {
	for i, f := range c.m.Funcs {
		if f.Name == name {
			return int64(i)
		}
	}
	return -1
}

func (c *checker) wantEntry(e *ir.LanguageEntry) record {
	return record{
		"Func": c.funcNumber(e.Func), "Tokens": int64(e.Tokens), "Pos": int64(e.Pos),
		"Slot": int64(e.Slot), "Lengths": int64(e.Lengths), "Logits": int64(e.Logits),
	}
}

// wantRing returns the rows of rings and the largest window in which an attention reads them; nil if there are none.
func (c *checker) wantRing() record {
	var rows, window int64
	for _, e := range []*ir.LanguageEntry{&c.m.LM.Prefill, &c.m.LM.Decode, &c.m.LM.Joint, &c.m.LM.Top.LanguageEntry} {
		if e.Func == "" {
			continue
		}
		visit(c.m.Func(e.Func), func(n *ir.Node) {
			switch a := n.Attr.(type) {
			case *ir.AttentionAttr:
				if a.Ring > 0 {
					rows, window = n.Args[1].Type.Shape[2].Upper(), max(window, a.Window)
				}
			case *ir.AttentionSegmentsAttr:
				if a.Ring > 0 {
					rows, window = n.Args[1].Type.Shape[2].Upper(), max(window, a.Window)
				}
			}
		})
	}
	if rows == 0 {
		return nil
	}
	return record{"Rows": rows, "Window": window}
}

// leastRoom returns how many sequences (axis 0) or positions (axis 2) there is room for: what the smallest
// state has that an entry writes.
func (c *checker) leastRoom(axis int) int64 {
	var least int64
	for _, e := range []*ir.LanguageEntry{&c.m.LM.Prefill, &c.m.LM.Decode, &c.m.LM.Joint, &c.m.LM.Top.LanguageEntry} {
		if e.Func == "" {
			continue
		}
		visit(c.m.Func(e.Func), func(n *ir.Node) {
			if n.Op != ir.OpStateWrite {
				return
			}
			room := n.Args[0].Type.Shape[axis].Upper()
			if axis == 2 {
				room = positionsIn(n, n.Args[0].Type).Upper()
			}
			if least == 0 || room < least {
				least = room
			}
		})
	}
	return least
}
