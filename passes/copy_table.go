package passes

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// copyTable holds something for each value of a function that is copied for a target. A map would
// be asked for every operand; most values are copied for one target.
type copyTable[T any] struct {
	heads []int32 // by value id: the first entry of the value; -1 is none
	list  []copyEntry[T]
}

// copyEntry is what is held for one value and target.
type copyEntry[T any] struct {
	on   *target.Descriptor
	next int32 // entry of the same value; -1 is none
	held T
}

// at returns what is held for v and a target; nil for nothing. It is there until add is called.
func (t *copyTable[T]) at(v *ir.Value, on *target.Descriptor) *T {
	for i := t.heads[v.ID]; i >= 0; i = t.list[i].next {
		if e := &t.list[i]; e.on == on {
			return &e.held
		}
	}
	return nil
}

// add is at, and makes room where nothing is held.
func (t *copyTable[T]) add(v *ir.Value, on *target.Descriptor) *T {
	if held := t.at(v, on); held != nil {
		return held
	}
	t.list = append(t.list, copyEntry[T]{on: on, next: t.heads[v.ID]})
	t.heads[v.ID] = int32(len(t.list)) - 1
	return &t.list[t.heads[v.ID]].held
}
