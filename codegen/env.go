package codegen

import (
	"os"
	"slices"
	"strings"
)

// fixedEnv are the settings of every build. The Go command takes an empty variable for one
// that is not set, and looks it up in the file of go env -w, then in go.env of its own folder,
// then in what it was built with. So the file is off, and what may differ has a value.
var fixedEnv = []string{
	"GOENV=off", "GOFLAGS=-trimpath", "GOWORK=off", "GO111MODULE=on", "GOTOOLCHAIN=local",
	"GOPROXY=off", "GOSUMDB=off", "GOVCS=*:off", "GOAUTH=off", // no network
	"GO386=sse2", "GOAMD64=v1", "GOARM=7", "GOARM64=v8.0", "GOFIPS140=off",
	"GOMIPS=hardfloat", "GOMIPS64=hardfloat", "GOPPC64=power8", "GORISCV64=rva20u64",
}

// keptEnv are the caller's variables of Go that a build keeps: the system to build for, the places of
// caches and temporary files, and the limits on processors and memory.
var keptEnv = []string{"GOOS", "GOARCH", "GOCACHE", "GOTMPDIR", "GOPATH", "GOMODCACHE", "GOMAXPROCS", "GOMEMLIMIT", "GOGC"}

// compilers are variables of cgo that name programs. They are read in builds with the race
// detector alone.
var compilers = []string{"AR", "CC", "CXX", "FC", "GCCGO", "PKG_CONFIG"}

// buildEnv is the environment of the Go command: of the caller's settings it has those of the
// system, and of Go's none that could change the result, run a program or reach the network.
// Temporary files of the Go command are in dir, which is removed even after a build that was
// interrupted, unless the caller names another folder.
func buildEnv(o BuildOptions, dir string) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !passesOn(strings.ToUpper(name), o)
	})
	env = append(env, fixedEnv...)
	if os.Getenv("GOTMPDIR") == "" {
		env = append(env, "GOTMPDIR="+dir)
	}
	if o.Race {
		env = append(env, "CGO_ENABLED=1")
	} else {
		env = append(env, "CGO_ENABLED=0")
	}
	if o.GOOS != "" {
		env = append(env, "GOOS="+o.GOOS)
	}
	if o.GOARCH != "" {
		env = append(env, "GOARCH="+o.GOARCH)
	}
	return env
}

// passesOn reports whether a build reads a variable of the caller's. Names are in capitals, as
// Windows ignores their case. A name that only begins like those of Go, such as GOOGLE_HOME, is
// not passed on either.
func passesOn(name string, o BuildOptions) bool {
	switch {
	case slices.Contains(keptEnv, name):
		return true
	case slices.Contains(compilers, name):
		return o.Race
	}
	return !strings.HasPrefix(name, "GO") && !strings.HasPrefix(name, "CGO_") && !strings.HasPrefix(name, "GCCGO")
}
