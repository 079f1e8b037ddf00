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

// DevicesSources holds the other packages of the program that ggmlc devices builds. No
// emitted program imports them.
//
//go:embed cmd/ggmlc/devices/*.go ir/*.go ir/eval/*.go ir/opcase/*.go ir/spell/*.go passes/target/*.go
//go:embed kernels/gpu/*.go kernels/gpu/gputest kernels/gpu/kirtest/*.go kernels/gpu/measure/*.go
//go:embed kernels/gpu/ondevice kernels/gpu/ptx/*.go kernels/gpu/spirv/*.go
var DevicesSources embed.FS
