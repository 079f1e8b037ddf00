//go:build linux

package cuda_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/runtime/cuda"
	"github.com/ggmlc/ggmlc/tests/cudasim"
)

// TestList lists three devices, of which programs take the one with the most memory that runs kernels.
func TestList(t *testing.T) {
	d := cudasim.New(cudasim.Config{Devices: []cudasim.Device{
		{Name: "Small", Memory: 1 << 30, Capability: 80}, {Name: "Large", Memory: 1 << 33, Capability: 75}, {Name: "Old", Memory: 1 << 34, Capability: 61},
	}})
	library().Use(d)
	got, err := cuda.List(library().Symbol)
	if err != nil {
		t.Fatal(err)
	}
	want := []cuda.Info{
		{Name: "Small", Version: "12.8", Capability: 80, Processors: 4, Memory: 1 << 30, Shared: 48 << 10, Threads: 1024},
		{Name: "Large", Version: "12.8", Capability: 75, Processors: 4, Memory: 1 << 33, Shared: 48 << 10, Threads: 1024, Chosen: true},
		{Name: "Old", Version: "12.8", Capability: 61, Processors: 4, Memory: 1 << 34, Shared: 48 << 10, Threads: 1024, Missing: "compute capability 7.0"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v\ninstead of\n%+v", got, want)
	}
	if live := d.Live(); len(live) > 0 || len(d.Problems()) > 0 {
		t.Errorf("left %v, problems %q", live, d.Problems())
	}
}

// TestListNeedsDevices lists those of drivers without one, and of one whose only device is too old.
func TestListNeedsDevices(t *testing.T) {
	old := cudasim.Default()
	old.Version = 11030
	for want, c := range map[string]cudasim.Config{
		"there is no NVIDIA GPU":                            {},
		"the driver has CUDA 11.3, 11.4 or later is needed": old,
	} {
		library().Use(cudasim.New(c))
		if _, err := cuda.List(library().Symbol); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	library().Use(cudasim.New(cudasim.Config{Devices: []cudasim.Device{{Name: "Old", Memory: 1 << 30, Capability: 61}}}))
	if list, err := cuda.List(library().Symbol); err != nil || len(list) != 1 || list[0].Chosen || list[0].Missing == "" {
		t.Errorf("%+v, error %v", list, err)
	}
}
