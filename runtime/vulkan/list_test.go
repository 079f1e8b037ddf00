package vulkan_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/vulkan"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// TestListedDevicesOpen compares the list with what the loader opens: devices that miss nothing, by their numbers, and
// the features that the list names.
func TestListedDevicesOpen(t *testing.T) {
	list, err := vulkan.List()
	if err != nil {
		needtest.Skip(t, "vulkan", "no Vulkan device: %v", err)
	}
	chosen := 0
	for n, i := range list {
		t.Logf("%d: %+v", n, i)
		if i.Name == "" || i.Kind == "" || i.Driver == "" || i.Version == "" || i.Memory <= 0 || i.MaxAlloc <= 0 || i.Shared <= 0 || i.Threads <= 0 || i.Lanes <= 0 {
			t.Errorf("a property is missing: %+v", i)
		}
		if i.Chosen {
			chosen++
		}
		for _, name := range append(slices.Clone(i.Has), i.Lacks...) {
			opens := tryOpen(vulkan.Options{Device: strconv.Itoa(n), Needs: []string{name}})
			if want := len(i.Missing) == 0 && slices.Contains(i.Has, name); (opens == nil) != want {
				t.Errorf("%s with %s: %v, and the list says %v", i.Name, name, opens, want)
			}
		}
	}
	if chosen != 1 {
		t.Errorf("%d devices are chosen", chosen)
	}
}

func tryOpen(o vulkan.Options) error {
	l := vulkan.Loader{Options: o}
	d, err := l.Open(&runtime.DeviceInfo{Name: "gpu"}, 0, new(runtime.Supervisor))
	if err != nil {
		return err
	}
	return d.Close()
}

// TestListNeedsADriver lists devices where the loader finds no driver.
func TestListNeedsADriver(t *testing.T) {
	if _, err := vulkan.List(); err != nil {
		needtest.Skip(t, "vulkan", "no Vulkan device: %v", err)
	}
	none := t.TempDir() + "/none.json"
	t.Setenv("VK_DRIVER_FILES", none)
	t.Setenv("VK_ICD_FILENAMES", none)
	if list, err := vulkan.List(); err == nil {
		t.Errorf("there are %+v", list)
	}
}
