package flow

import (
	"slices"
)

// None is the number of a node or value that is absent.
const None = int32(-1)

// NoneOf returns a table of n numbers, all of them None.
func NoneOf(n int) []int32 { return slices.Repeat([]int32{None}, n) }
