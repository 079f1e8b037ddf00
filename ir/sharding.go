package ir

import (
	"fmt"
	"slices"
	"strings"
)

// Sharding is how a value is divided over the devices of a group: its state.
type Sharding struct {
	Kind ShardKind

	// Axis and Segments are those of a split value.
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
)

// Segment is a part of a split axis. It repeats Times times; in each repetition device i has Counts[i] elements. A
// device stores its pieces in order, one after another, without gaps.
//
// For example, a weight of 8 query heads and 4 heads each for keys and values, of 32 rows, is on two devices with
// shares 3 and 1
//
//	split(0, 192 64, 2*(96 32))
type Segment struct {
	Times  int64
	Counts []int64
}

// Mirrored and Partial return the states without an axis.
func Mirrored() Sharding { return Sharding{Kind: ShardMirrored} }

// Partial returns the state of a value of which every device has a summand.
func Partial() Sharding { return Sharding{Kind: ShardPartial} }

// SplitOn returns the state of a value that is split on an axis.
func SplitOn(axis int, segments ...Segment) Sharding {
	return Sharding{Kind: ShardSplit, Axis: axis, Segments: segments}
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
		return a.Times == b.Times && slices.Equal(a.Counts, b.Counts)
	})
}

func (s *Sharding) clone() *Sharding {
	if s == nil {
		return nil
	}
	t := *s
	t.Segments = cloneEach(s.Segments, func(g Segment) Segment { return Segment{g.Times, slices.Clone(g.Counts)} })
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
	}
	return "none"
}

func (s Sharding) segmentsText() string {
	texts := make([]string, len(s.Segments))
	for i, seg := range s.Segments {
		counts := strings.Trim(fmt.Sprint(seg.Counts), "[]")
		if texts[i] = counts; seg.Times != 1 {
			texts[i] = fmt.Sprintf("%d*(%s)", seg.Times, counts)
		}
	}
	return strings.Join(texts, ", ")
}
