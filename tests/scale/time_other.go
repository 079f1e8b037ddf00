//go:build !unix

package scale

import "time"

var started = time.Now()

// processTime returns the time since the process began, as its CPU time is not available here.
func processTime() time.Duration { return time.Since(started) }
