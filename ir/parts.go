package ir

import (
	"fmt"
	"slices"
	"strings"
)

// Parts are what the devices of a group have of a value, in a function that spread has written out for them. The text
// form has a line for it at the head of the function:
//
//	parts "up" split(1, 8 4) ["up@0", "up@1"]
//
// That value is none of the function, unless a device has all of it under its name.
type Parts struct {
	Of    string   // the name of the value
	State Sharding // mirrored: each device has all of it
	Names []string // of the values that device 0, 1 and so on have; empty for a device that has nothing
}

// Ranges returns the ranges of the split axis that a device has, in the order in which it stores them: the first
// element and the number of elements. Adjacent ranges are joined. It returns nil for other states.
func (s Sharding) Ranges(device int) [][2]int64 {
	var ranges [][2]int64
	at := int64(0)
	for _, seg := range s.Segments {
		if seg.Len() == 0 {
			continue
		}
		for range seg.Times {
			begin, n := at+seg.Start(device), seg.Counts[device]
			last := len(ranges) - 1
			switch {
			case n == 0:
			case last >= 0 && ranges[last][0]+ranges[last][1] == begin:
				ranges[last][1] += n
			default:
				ranges = append(ranges, [2]int64{begin, n})
			}
			at += seg.Len()
		}
	}
	return ranges
}

// Index returns what a device has of a value with this state, as an index after its name: [:,8:12] are elements 8 to 11
// of axis 1, [:,0:4+8:12] two ranges one after the other, and [+] is a summand. It is empty for all of the value.
func (s Sharding) Index(device int) string {
	switch s.Kind {
	case ShardPartial:
		return "[+]"
	case ShardSplit:
		var texts []string
		for _, r := range s.Ranges(device) {
			texts = append(texts, fmt.Sprintf("%d:%d", r[0], r[0]+r[1]))
		}
		return "[" + strings.Repeat(":,", s.Axis) + strings.Join(texts, "+") + "]"
	}
	return ""
}

// PartsOf returns what the devices have of a value, by its name; nil if f has not been written out for a group, or the
// value is there once. A value that is added up has both, first the summands.
func (f *Func) PartsOf(name string) []Parts {
	var list []Parts
	for _, p := range f.Parts {
		if p.Of == name {
			list = append(list, p)
		}
	}
	return list
}

// PartIndexes returns for the names of values that are parts what they are of a value, as Sharding.Index has it. A
// summand of several values is listed once.
func (f *Func) PartIndexes() map[string]string {
	indexes := make(map[string]string)
	for _, p := range f.Parts {
		for i, name := range p.Names {
			if _, known := indexes[name]; !known && name != "" {
				indexes[name] = p.State.Index(i)
			}
		}
	}
	return indexes
}

func (p Parts) clone() Parts {
	p.State = *p.State.clone()
	p.Names = slices.Clone(p.Names)
	return p
}

func (p Parts) equal(q Parts) bool {
	return p.Of == q.Of && p.State.Equal(q.State) && slices.Equal(p.Names, q.Names)
}

// String returns the parts in the text form.
func (p Parts) String() string {
	return fmt.Sprintf("parts %s %v %s", quote(p.Of), p.State, quotedList(p.Names))
}

// parts checks the parts of a function: all states have one number of devices, and who has elements of a split axis has
// a value, which has as many.
func (v *verifier) parts(f *Func) {
	if len(f.Parts) == 0 {
		return
	}
	v.must(f.Owner == nil, "parts", "a body has parts: those of its values belong to the function")
	values := make(map[string]*Value)
	for _, n := range f.Nodes {
		for _, r := range n.Results {
			values[r.Name()] = r
		}
	}
	devices := len(f.Parts[0].Names)
	for _, p := range f.Parts {
		switch {
		case len(p.Names) != devices || devices < 2:
			v.fail("parts", "%v: the numbers of devices differ", p)
			continue
		case p.Of == "":
			v.fail("parts", "%v: there is no name", p)
			continue
		}
		why := p.State.checkSegments(devices)
		if p.State.Kind == ShardHeld {
			why = p.State.checkHeld(&devices)
		}
		if why != "" {
			v.fail("parts", "%v: %s", p, why)
			continue
		}
		for i, name := range p.Names {
			v.part(p, i, values[name])
		}
	}
}

// part checks what device i has. x is nil if a pass has removed it.
func (v *verifier) part(p Parts, i int, x *Value) {
	if p.State.Kind == ShardHeld {
		v.must(p.State.Has(i) == (p.Names[i] != ""), "parts", "%v: device %d and the value %q", p, i, p.Names[i])
	}
	if !p.State.IsSplit() {
		return
	}
	n := p.State.Count(i)
	v.must((n > 0) == (p.Names[i] != ""), "parts", "%v: device %d has %d elements and the value %q", p, i, n, p.Names[i])
	if x != nil {
		v.must(p.State.Axis < x.Type.Rank() && x.Type.Shape[p.State.Axis].Is(n), "parts", "%v: device %d has %d elements, and %v is %v", p, i, n, x, x.Type)
	}
}
