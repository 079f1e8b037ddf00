package ir

// ReshapeAttr is the shape of the result; it has as many elements as the operand.
type ReshapeAttr struct {
	Shape []Dim `attr:"shape"`
}

// PermuteAttr reorders dimensions: dimension i of the result is dimension Perm[i] of the
// operand.
type PermuteAttr struct {
	Perm []int `attr:"perm"`
}

// SliceAttr takes the range [Start, Start+Len) of one axis.
type SliceAttr struct {
	Axis  int `attr:"axis"`
	Start Dim `attr:"start"`
	Len   Dim `attr:"len"`
}
