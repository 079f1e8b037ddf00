package ir

// ScaleAttr is y = Scale*x + Bias.
type ScaleAttr struct {
	Scale float32 `attr:"scale"`
	Bias  float32 `attr:"bias,default=0"`
}
