package ir

// RopeTableAttr multiplies cosines and sines (the attention factor of YaRN; 1 otherwise).
type RopeTableAttr struct {
	Scale float32 `attr:"scale,default=1"`
}

// RopeAttr says which elements of a head are rotated together: neighbours (2i, 2i+1), or,
// with NeoX, (i, i+half).
type RopeAttr struct {
	NeoX bool `attr:"neox,default=false"`
}
