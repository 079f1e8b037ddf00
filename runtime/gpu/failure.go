package gpu

import (
	"errors"
	"fmt"
)

// Failure is the value of a device's runtime.FaultError.
type Failure struct {
	Device string // with its driver
	Step   uint64
	Err    error
}

func (f *Failure) Error() string { return fmt.Sprintf("step %d on %s: %v", f.Step, f.Device, f.Err) }

// Unwrap returns the error of the driver.
func (f *Failure) Unwrap() error { return f.Err }

// Surroundings tells runtime.FaultError whether the driver or the device failed, and not the program: the error, or one in it,
// says so by a method of that name.
func (f *Failure) Surroundings() bool {
	var s interface{ Surroundings() bool }
	return errors.As(f.Err, &s) && s.Surroundings()
}
