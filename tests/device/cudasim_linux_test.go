package device

import (
	"sync"
	"testing"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/cuda"
	"github.com/ggmlc/ggmlc/tests/cudasim"
)

// simulation is a simulated driver, which all tests share, with its functions.
type simulation struct {
	driver  *cudasim.Driver
	library *cudasim.Library
}

var newSimulation = sync.OnceValue(func() simulation {
	s := simulation{cudasim.New(cudasim.Default()), cudasim.NewLibrary()}
	s.library.Use(s.driver)
	return s
})

// openSimulated returns a device of the simulated driver.
func openSimulated(t testing.TB, s *runtime.Supervisor) runtime.Device {
	on := newSimulation()
	l := cuda.Loader{Options: cuda.Options{Symbol: on.library.Symbol}}
	device, err := l.Open(&runtime.DeviceInfo{Name: "cuda", Queues: []string{"cuda"}}, 0, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, p := range on.driver.Problems() {
			t.Errorf("driver: %s", p)
		}
	})
	return device
}
