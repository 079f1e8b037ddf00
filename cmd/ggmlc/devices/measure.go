package devices

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	all := d.driver.kernels(d)
	m, err := ondevice.Open(all[len(all)-1].Kind)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	t := target.Builtin(d.driver.kind)
	bytes := min(max(d.memory/64, leastMeasured), mostMeasured)
	if d.maxAlloc > 0 {
		bytes = min(bytes, d.maxAlloc)
	}
	r, err := measure.Measure(ctx, m, t, measure.Options{Bytes: bytes, Time: measureTime, Progress: c.line})
	if err != nil {
		return "", err
	}
	r.Apply(t)
	t.Memory, t.MaxAlloc = d.memory, d.maxAlloc
	head := fmt.Sprintf("# written by ggmlc devices --measure: backends of builds for %s, with --target-file\n", d.name)
	if !d.chosen {
		head += fmt.Sprintf("# programs need the flag %s %d: by themselves they take another device\n", d.driver.flag, d.number)
	}
	return fmt.Sprintf("%s%starget %v\ntarget %v\n", head, r.Comments(), t, target.CPU()), nil
}
