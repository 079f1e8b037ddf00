package runtime

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
)

// useCores returns those of the cores of a target that its threads are bound to, and the number of threads. Cores that
// the process may not use are left out. If there are none, or if the system binds no threads, the threads run on any
// core. A note for the user describes both.
func useCores(name string, cores []int) (use []int, threads int, note string) {
	threads = min(len(cores), goruntime.GOMAXPROCS(0))
	var mask coreMask
	mask.load()
	allowed := mask.cores()
	for _, c := range cores {
		if slices.Contains(allowed, c) {
			use = append(use, c)
		}
	}
	switch {
	case !canBind:
		note = fmt.Sprintf("%s: on %s threads are not bound to cores: they run on any", name, goruntime.GOOS)
	case len(use) == 0:
		note = fmt.Sprintf("%s: the cores %s are not among those that this process may use (%s): its threads run on any", name, coreList(cores), coreList(allowed))
	case len(use) < len(cores):
		note = fmt.Sprintf("%s: not all of the cores %s are among those that this process may use (%s): it runs on %s", name, coreList(cores), coreList(allowed), coreList(use))
		threads = min(threads, len(use))
	}
	return use[:min(len(use), threads)], threads, note
}

// MissingCores returns which of the cores of a target this process may not use, and what programs then do, as a sentence
// for the user; empty if it may use all of them.
func MissingCores(name string, cores []int) string {
	_, _, note := useCores(name, cores)
	return note
}

// coreList returns cores, in order, as numbers and ranges.
func coreList(cores []int) string {
	cores = slices.Sorted(slices.Values(cores))
	var parts []string
	for i := 0; i < len(cores); {
		end := i + 1
		for end < len(cores) && cores[end] == cores[end-1]+1 {
			end++
		}
		text := strconv.Itoa(cores[i])
		if end-i > 1 {
			text += "-" + strconv.Itoa(cores[end-1])
		}
		parts = append(parts, text)
		i = end
	}
	return strings.Join(parts, ",")
}
