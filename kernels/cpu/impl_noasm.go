//go:build !amd64 || purego

package cpu

// builtin lists the implementations of this build: pure Go only.
func builtin() []implementation { return []implementation{genericImplementation()} }
