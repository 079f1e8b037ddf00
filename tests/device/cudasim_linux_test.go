package device

import (
	"sync"
	"testing"

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

// simulatedCUDA returns a loader of the simulated driver.
func simulatedCUDA(t testing.TB) *cuda.Loader {
	on := newSimulation()
	t.Cleanup(func() {
		for _, p := range on.driver.Problems() {
			t.Errorf("driver: %s", p)
		}
	})
	return &cuda.Loader{Options: cuda.Options{Symbol: on.library.Symbol}}
}
