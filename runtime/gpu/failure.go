package gpu

import (
	"errors"
	"fmt"
	"time"
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

// Surroundings tells runtime.FaultError whether the driver or the device failed, and not the program. The error, or one
// in it, reports that by a method of that name.
func (f *Failure) Surroundings() bool {
	var s interface{ Surroundings() bool }
	return errors.As(f.Err, &s) && s.Surroundings()
}

// NoProgress is the error of a wait that was cut.
type NoProgress struct {
	Limit time.Duration
	Flag  string // that sets the limit
}

func (e *NoProgress) Error() string {
	return fmt.Sprintf("neither this command nor one submitted with it was done for %v: the device hangs or is slow (%s waits longer)", e.Limit, e.Flag)
}

// Surroundings tells Failure that the device failed.
func (*NoProgress) Surroundings() bool { return true }
