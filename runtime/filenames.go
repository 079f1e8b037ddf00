package runtime

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ggmlc/ggmlc/runtime/printable"
)

// maxFileName is the longest file name that is derived from a tensor's name, in bytes without the extension. File
// systems allow 255.
const maxFileName = 200

// fileNames returns a file name for each tensor, which is NAME.npy for most. Names of tensors are arbitrary text:
// even the file of a tensor named ../../x has to be in the same folder as all others. No two names are equal, not
// even if case is ignored.
func fileNames(ts []Tensor) []string {
	names, taken := make([]string, len(ts)), make(map[string]bool)
	take := func(i int, name string) bool {
		if taken[strings.ToLower(name)] {
			return false
		}
		names[i], taken[strings.ToLower(name)] = name, true
		return true
	}
	for i := range ts { // harmless names are kept, however the others are called
		if name := ts[i].Name; harmless(name) == name {
			take(i, name)
		}
	}
	for i := range ts {
		base := harmless(ts[i].Name)
		for n := 2; names[i] == "" && !take(i, base); n++ {
			base = harmless(ts[i].Name) + "_" + strconv.Itoa(n)
		}
	}
	for i := range names {
		names[i] += ".npy"
	}
	return names
}

// harmless turns a tensor's name into one that a file may have in any folder on any system: without separators,
// characters that do not print or that Windows refuses, and not the name of a Windows device.
func harmless(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !strconv.IsPrint(r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
	name = printable.Head(name, maxFileName)
	if name == "" || name[0] == '.' || name[0] == ' ' || isDevice(name) {
		name = "_" + name
	}
	return name
}

// devices are the names of devices that exist in every folder on Windows, with any extension.
var devices = []string{"AUX", "CON", "CONIN$", "CONOUT$", "NUL", "PRN"}

func isDevice(name string) bool {
	name, _, _ = strings.Cut(name, ".")
	name = strings.ToUpper(strings.TrimRight(name, " "))
	if slices.Contains(devices, name) {
		return true
	}
	port, isCOM := strings.CutPrefix(name, "COM")
	if !isCOM {
		port, _ = strings.CutPrefix(name, "LPT")
	}
	return port != name && utf8.RuneCountInString(port) == 1 && strings.Contains("0123456789¹²³", port)
}
