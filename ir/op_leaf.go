package ir

// WeightAttr names a weight of the module.
type WeightAttr struct {
	Name string `attr:"name,positional"`
}

// StateAttr names a state of the module.
type StateAttr struct {
	Name string `attr:"name,positional"`
}

// ConstantAttr holds the bytes of a small constant, little-endian, in the layout of the
// result's type; at most 4 KiB. Larger constants are weights.
type ConstantAttr struct {
	Data []byte `attr:"data,positional"`
}
