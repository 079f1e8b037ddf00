package devices

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ggmlc/ggmlc/kernels/gpu/measure"
	"github.com/ggmlc/ggmlc/kernels/gpu/ondevice"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Bounds of measurements: the smallest amount of memory is more than the caches of processors hold of it, the largest
// one more than those of GPUs.
const (
	leastMeasured = 16 << 20
	mostMeasured  = 256 << 20
	measureTime   = 20 * time.Millisecond
)

// writeMeasured measures a device and prints a target file.
func (c *command) writeMeasured(ctx context.Context, d *gpuDevice) error {
	text, err := c.measureDevice(ctx, d)
	if err != nil {
		return fmt.Errorf("%v %s: %w", d, d.name, err)
	}
	_, err = io.WriteString(c.stdout, text)
	return err
}

// measureDevice returns the text of a target file with the rates of a device.
func (c *command) measureDevice(ctx context.Context, d *gpuDevice) (text string, err error) {
	t := target.Builtin(d.driver.kind)
	bytes := min(max(d.memory/64, leastMeasured), mostMeasured)
	if d.maxAlloc > 0 {
		bytes = min(bytes, d.maxAlloc)
	}
	o := measure.Options{Bytes: bytes, Time: measureTime, Progress: c.line}
	var r *measure.Result
	var others strings.Builder // what products take with kernels that a target has to ask for
	for _, k := range d.driver.kernels(d) {
		switch {
		case k.mma == "" && k.last(d):
			r, err = measured(ctx, k, t, o, measure.Measure)
		case k.mma != "":
			var p *measure.Result
			if p, err = measured(ctx, k, t, o, measure.Products); err == nil {
				others.WriteString(p.ProductComments("with mma=" + k.mma + ", "))
			}
		}
		if err != nil {
			return "", err
		}
	}
	r.Apply(t)
	t.Memory, t.MaxAlloc = d.memory, d.maxAlloc
	head := fmt.Sprintf("# written by ggmlc devices --measure: backends of builds for %s, with --target-file\n", d.name)
	if !d.chosen {
		head += fmt.Sprintf("# programs need the flag %s %d: by themselves they take another device\n", d.driver.flag, d.number)
	}
	return fmt.Sprintf("%s%s%starget %v\ntarget %v\n", head, r.Comments(), others.String(), t, target.CPU()), nil
}

// last reports whether programs use these kernels on a device by default: the last ones that no field of the target
// asks for.
func (k kernelKind) last(d *gpuDevice) bool {
	name := ""
	for _, other := range d.driver.kernels(d) {
		if other.mma == "" {
			name = other.name
		}
	}
	return k.name == name
}

// measured opens a device and measures it.
func measured(ctx context.Context, k kernelKind, t *target.Descriptor, o measure.Options,
	by func(context.Context, *ondevice.Machine, *target.Descriptor, measure.Options) (*measure.Result, error)) (r *measure.Result, err error) {
	m, err := ondevice.Open(k.Kind)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	return by(ctx, m, t, o)
}
