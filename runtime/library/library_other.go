//go:build !(linux && (amd64 || arm64 || loong64 || ppc64le || riscv64)) && !((darwin || windows) && (amd64 || arm64))

package library

func open(string) (uintptr, error) { return 0, ErrSystem }

// Symbol returns the address of a function.
func Symbol(uintptr, string) (uintptr, error) { panic("library: none is open") }

// Call calls a C function.
func Call(uintptr, ...uintptr) uintptr { panic("library: none is open") }

// CallWith calls a C function.
func CallWith(uintptr, []uintptr) uintptr { panic("library: none is open") }

// Callback returns the address of a C function that calls f.
func Callback(any) uintptr { panic("library: none is open") }
