package ir

import (
	"fmt"
	"slices"
	"strings"
)

// Sharding is how a value is divided over the devices of a group: its state.
type Sharding struct {
	Kind ShardKind

	// Axis and Segments are those of a split value. Of a held one, there is one segment with 1 for each device that has
	// it.
	Axis     int
	Segments []Segment
}

// ShardKind is the kind of a Sharding.
type ShardKind uint8

const (
	ShardNone     ShardKind = iota // unknown, or a value without elements
	ShardMirrored                  // every device has all of it
	ShardPartial                   // every device has a summand of the same shape
	ShardSplit                     // the devices have different parts of one axis
	ShardHeld                      // some devices, or all, have all of it; each has a weight of its own
)

// Segment is a part of a split axis. It repeats Times times; in each repetition device i has Counts[i] elements. A
// device stores its pieces in order, one after another, without gaps.
//
// For example, a weight of 8 query heads and 4 heads each for keys and values, of 32 rows, is on two devices with
// shares 3 and 1
//
//	split(0, 192 64, 2*(96 32))
//
// Devices may have elements in common: each has the heads of keys that its queries read. Then Starts states where a
// device's elements begin in each repetition; nil means one device after another. With one head of keys instead of 4,
//
//	split(0, 192 64, 2*(32 32 at 0 0))
type Segment struct {
	Times  int64
	Counts []int64
	Starts []int64
}

// SegmentAt returns the segment in which device i has counts[i] elements from starts[i] on, once.
func SegmentAt(starts, counts []int64) Segment {
	s, next, inOrder := Segment{Times: 1, Counts: counts, Starts: slices.Clone(starts)}, int64(0), true
	for i, n := range counts {
		if n == 0 {
			s.Starts[i] = 0
			continue
		}
		inOrder = inOrder && starts[i] == next
		next += n
	}
	if inOrder {
		s.Starts = nil
	}
	return s
}

// Start returns where the elements of a device begin in a repetition.
func (s Segment) Start(device int) int64 {
	if s.Starts != nil {
		return s.Starts[device]
	}
	n := int64(0)
	for _, c := range s.Counts[:device] {
		n += c
	}
	return n
}

// Len returns the number of elements of a repetition.
func (s Segment) Len() int64 {
	end := int64(0)
	for i, n := range s.Counts {
		end = max(end, s.Start(i)+n)
	}
	return end
}

// Owner returns the first device that has the element i of a repetition, and the end of its elements; -1 if none has
// it.
func (s Segment) Owner(i int64) (device int, end int64) {
	for j, n := range s.Counts {
		if first := s.Start(j); first <= i && i < first+n {
			return j, first + n
		}
	}
	return -1, 0
}

// isCovered reports whether each element of a repetition is on a device.
func (s Segment) isCovered() bool {
	for i, n := int64(0), s.Len(); i < n; {
		j, end := s.Owner(i)
		if j < 0 {
			return false
		}
		i = end
	}
	return true
}

// overlaps reports whether devices have elements in common.
func (s Segment) overlaps() bool {
	sum := int64(0)
	for _, n := range s.Counts {
		sum += n
	}
	return sum > s.Len()
}

// Overlaps reports whether devices have elements in common.
func (s Sharding) Overlaps() bool { return slices.ContainsFunc(s.Segments, Segment.overlaps) }

// Mirrored and Partial return the states without an axis.
func Mirrored() Sharding { return Sharding{Kind: ShardMirrored} }

// Partial returns the state of a value of which every device has a summand.
func Partial() Sharding { return Sharding{Kind: ShardPartial} }

// SplitOn returns the state of a value that is split on an axis.
func SplitOn(axis int, segments ...Segment) Sharding {
	return Sharding{Kind: ShardSplit, Axis: axis, Segments: segments}
}

// Held returns the state of a value that the devices with a count above 0 have.
func Held(counts []int64) Sharding {
	has := make([]int64, len(counts))
	for i, n := range counts {
		has[i] = min(n, 1)
	}
	return Sharding{Kind: ShardHeld, Segments: []Segment{{Times: 1, Counts: has}}}
}

// Normal returns the state as held if several devices have all of the value, and the others nothing.
func (s Sharding) Normal() Sharding {
	if s.Kind != ShardSplit || !s.Overlaps() {
		return s
	}
	total := int64(0)
	for _, seg := range s.Segments {
		total += seg.Times * seg.Len()
	}
	counts := s.Counts()
	if slices.ContainsFunc(counts, func(n int64) bool { return n != 0 && n != total }) {
		return s
	}
	return Held(counts)
}

// Has reports whether a device has something of the value.
func (s Sharding) Has(device int) bool {
	return s.Kind != ShardSplit && s.Kind != ShardHeld || s.Count(device) > 0
}

// IsSplit reports whether devices have different parts.
func (s Sharding) IsSplit() bool { return s.Kind == ShardSplit }

// Count returns the number of elements of the split axis that a device has.
func (s Sharding) Count(device int) int64 {
	n := int64(0)
	for _, seg := range s.Segments {
		n += seg.Times * seg.Counts[device]
	}
	return n
}

// Alike reports whether two states have the same axis and every device the same number of elements. Their segments may
// differ.
func (s Sharding) Alike(t Sharding) bool {
	if s.Kind != t.Kind || s.Kind != ShardSplit {
		return s.Kind == t.Kind
	}
	return s.Axis == t.Axis && slices.Equal(s.Counts(), t.Counts())
}

// Counts returns the number of elements of the split axis for each device.
func (s Sharding) Counts() []int64 {
	counts := make([]int64, s.devices())
	for i := range counts {
		counts[i] = s.Count(i)
	}
	return counts
}

// devices returns the number of devices of a split value.
func (s Sharding) devices() int {
	if len(s.Segments) == 0 {
		return 0
	}
	return len(s.Segments[0].Counts)
}

// Equal reports whether two states are the same in all segments.
func (s Sharding) Equal(t Sharding) bool {
	return s.Kind == t.Kind && s.Axis == t.Axis && slices.EqualFunc(s.Segments, t.Segments, func(a, b Segment) bool {
		return a.Times == b.Times && slices.Equal(a.Counts, b.Counts) && slices.Equal(a.Starts, b.Starts)
	})
}

func (s *Sharding) clone() *Sharding {
	if s == nil {
		return nil
	}
	t := *s
	t.Segments = cloneEach(s.Segments, func(g Segment) Segment {
		return Segment{g.Times, slices.Clone(g.Counts), slices.Clone(g.Starts)}
	})
	return &t
}

// String returns the state in the text form.
func (s Sharding) String() string {
	switch s.Kind {
	case ShardMirrored:
		return "mirrored"
	case ShardPartial:
		return "partial"
	case ShardSplit:
		return fmt.Sprintf("split(%d, %s)", s.Axis, s.segmentsText())
	case ShardHeld:
		return fmt.Sprintf("held(%s)", s.segmentsText())
	}
	return "none"
}

func (s Sharding) segmentsText() string {
	texts := make([]string, len(s.Segments))
	for i, seg := range s.Segments {
		counts := strings.Trim(fmt.Sprint(seg.Counts), "[]")
		if seg.Starts != nil {
			counts += " at " + strings.Trim(fmt.Sprint(seg.Starts), "[]")
		}
		if texts[i] = counts; seg.Times != 1 {
			texts[i] = fmt.Sprintf("%d*(%s)", seg.Times, counts)
		}
	}
	return strings.Join(texts, ", ")
}
