//go:build !unix

package scale

import "time"

var started = time.Now()

// processTime returns the time since the process began: nothing better is known here.
func processTime() time.Duration { return time.Since(started) }
