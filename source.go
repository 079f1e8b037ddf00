// Package ggmlc carries the source of the packages that emitted programs are built from.
// It is the root of the module because embedding cannot reach sideways.
package ggmlc

import "embed"

// Sources holds the packages that emitted programs import, by their path in this module.
// They import only the standard library and each other, so a build needs neither network
// nor module cache.
//
//go:embed ir/dtype runtime kernels/cpu kernels/gpu/kir kernels/gpu/interp
var Sources embed.FS
