package devices

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
	"github.com/ggmlc/ggmlc/kernels/gpu/ondevice"
)

// checkSession is an open device, which is opened again after a failure: the contents of a failed one are unknown.
type checkSession struct {
	kind kernelKind
	m    *ondevice.Machine
}

func (s *checkSession) close() error {
	if s.m == nil {
		return nil
	}
	m := s.m
	s.m = nil
	return m.Close()
}

// machine returns the device without anything in its memory.
func (s *checkSession) machine() (gputest.Machine, error) {
	if s.m != nil && s.m.Failed() != nil {
		_ = s.close() // the failure is reported already
	}
	if s.m == nil {
		var err error
		if s.m, err = ondevice.Open(s.kind.Kind); err != nil {
			s.m = nil
			return nil, err
		}
	}
	s.m.Free()
	return s.m, nil
}

// checkDevice runs the conformance suite on a device, with all kernels that programs have for it, and prints what came
// of it.
func (c *command) checkDevice(ctx context.Context, d *gpuDevice) error {
	if _, err := fmt.Fprintf(c.stdout, "%v  %s\n", d, d.name); err != nil {
		return err
	}
	failed := 0
	for _, k := range d.driver.kernels(d) {
		n, err := c.checkKernels(ctx, k)
		if failed += n; err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%v %s: %d checks failed: programs may compute wrong results there: install a newer driver, and report it", d, d.name, failed)
	}
	return nil
}

// checkKernels runs the conformance suite with the kernels of a generation, and returns how many checks failed.
func (c *command) checkKernels(ctx context.Context, k kernelKind) (failed int, err error) {
	switch {
	case k.mma != "":
		fmt.Fprintf(c.stdout, "  kernels for %s, of targets with mma=%s\n", k.name, k.mma)
	case k.name != "":
		fmt.Fprintf(c.stdout, "  kernels for %s\n", k.name)
	}
	s := &checkSession{kind: k}
	failed, err = checkGroups(ctx, c.stdout, gputest.Suite(c.counts), s.machine, c.line)
	return failed, errors.Join(err, s.close())
}

// checkGroups runs groups of checks and returns how many failed.
func checkGroups(ctx context.Context, w io.Writer, groups []gputest.Group, open func() (gputest.Machine, error), line func(string)) (failed int, err error) {
	for _, g := range groups {
		line("checking " + g.Doc)
		t, err := g.Run(ctx, open)
		if err != nil {
			return failed, err
		}
		failed += len(t.Failures)
		if _, err := io.WriteString(w, tallyText(&g, &t)); err != nil {
			return failed, err
		}
	}
	return failed, nil
}

// tallyText returns the counts of a group, and each failure with its difference.
func tallyText(g *gputest.Group, t *gputest.Tally) string {
	var b strings.Builder
	fmt.Fprintf(&b, "    %-8s %3d passed, %d failed", g.Name, t.Passed, len(t.Failures))
	if t.Skipped > 0 {
		fmt.Fprintf(&b, ", %d without a kernel", t.Skipped)
	}
	fmt.Fprintf(&b, ": %s\n", g.Doc)
	for _, f := range t.Failures {
		fmt.Fprintf(&b, "        %s: %s\n", f.Check, strings.ReplaceAll(f.Err.Error(), "\n", "\n            "))
	}
	return b.String()
}
