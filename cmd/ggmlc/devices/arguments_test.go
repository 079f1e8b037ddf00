package devices

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestArguments(t *testing.T) {
	var c command
	var errs bytes.Buffer
	if err := c.parse([]string{"-check", "-progress", "-device", "vulkan:1"}, &errs); err != nil || !c.check || c.measure || c.device != "vulkan:1" {
		t.Fatalf("%+v, error %v", c, err)
	}
	if c.line("checking"); errs.String() != "checking\n" {
		t.Errorf("progress %q", &errs)
	}
	errs.Reset()
	if status := Run(t.Context(), []string{"-other"}, nil, &errs); status != exitUsage || errs.String() != "ggmlc: flag provided but not defined: -other\n" {
		t.Errorf("exit status %d: %s", status, &errs)
	}
}

func TestReport(t *testing.T) {
	var out bytes.Buffer
	report(&out, errors.Join(errors.New("vulkan: none"), fmt.Errorf("checks: %w", context.Canceled), errors.New("\x1b[31mred")))
	const want = "ggmlc: vulkan: none\nggmlc: interrupted\nggmlc: "
	if got := out.String(); len(got) < len(want) || got[:len(want)] != want || bytes.ContainsRune(out.Bytes(), '\x1b') {
		t.Errorf("%q", got)
	}
}
