package cmd

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestDevicesArguments: the program gets the flags, and -progress if a person reads.
func TestDevicesArguments(t *testing.T) {
	for _, c := range []struct {
		f    devicesFlags
		p    progress
		want string
	}{
		{devicesFlags{}, progress{}, "-device "},
		{devicesFlags{check: true, device: "vulkan:1"}, progress{}, "-check -device vulkan:1"},
		{devicesFlags{measure: true, device: "1", out: "file"}, progress{w: io.Discard}, "-measure -progress -device 1"},
	} {
		if got := c.f.args(&c.p); !slices.Equal(got, strings.Split(c.want, " ")) {
			t.Errorf("%+v: %q instead of %s", c.f, got, c.want)
		}
	}
}

// TestDevicesProgramThatDoesNotStart: only then is the advice about the dynamic loader added.
func TestDevicesProgramThatDoesNotStart(t *testing.T) {
	for _, err := range []error{nil, &programStatus{1}, context.Canceled} {
		if got := startable(err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	if err := startable(syscall.ENOENT); !errors.Is(err, syscall.ENOENT) || !strings.Contains(err.Error(), "needs the dynamic loader") {
		t.Errorf("error %v", err)
	}
}
