package ir

// NormAttr holds the number added to the mean square (or variance) under the root.
type NormAttr struct {
	Eps float32 `attr:"eps"`
}
