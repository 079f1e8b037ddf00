package ir

// AttentionAttr holds the factor of the scores, usually 1/sqrt(head size).
type AttentionAttr struct {
	Scale float32 `attr:"scale"`
}
