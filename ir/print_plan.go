package ir

import (
	"fmt"
	"strconv"
	"strings"
)

func (p *printer) plan(plan *Plan) {
	head := "plan"
	if plan.Pipeline > 1 {
		head += fmt.Sprintf(" pipeline=%d", plan.Pipeline)
	}
	if plan.Threads != 0 {
		head += fmt.Sprintf(" threads=%d", plan.Threads)
	}
	if plan.Cut {
		head += " cut=clock"
	}
	p.linef("%s {", head)
	for i := range plan.Arenas {
		p.linef("  %s", plan.Arenas[i].String())
	}
	for _, f := range plan.Funcs {
		p.linef("  func %s barriers=%d nodes=%d parts=%d {", quote(f.Func), f.Barriers, f.Nodes, f.MaxParts)
		for _, s := range f.Splits {
			p.linef("    %s", s.String())
		}
		p.linef("  }")
	}
	p.linef("}")
}

// String returns the arena in the text form.
func (a *Arena) String() string {
	chunks := make([]string, len(a.Chunks))
	for i, c := range a.Chunks {
		chunks[i] = strconv.FormatInt(c, 10)
	}
	return fmt.Sprintf("arena %s %v align=%d chunks=[%s] bound=%d func=%s setters=%s", quoteWord(a.Space), a.Class,
		a.Align, strings.Join(chunks, ","), a.Bound, quote(a.BoundFunc), quotedList(a.Setters))
}

// String returns the split in the text form.
func (s Split) String() string {
	text := "split @" + quoteName(s.Backend)
	if len(s.Inputs) > 0 {
		text += " inputs=" + quotedList(s.Inputs)
	}
	if !s.Cause.Equal(Cause{}) {
		text += " ; " + s.Cause.String()
	}
	return text
}
