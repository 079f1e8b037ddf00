package runtime

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
)

// useCores returns those of the cores of a target that its threads are bound to, and the number of threads, at most
// limit unless that is 0. Cores that the process may not use are left out. If there are none, or if the system binds no
// threads, the threads run on any core. A note for the user describes both.
func useCores(name string, cores []int, limit int) (use []int, threads int, note string) {
	threads = min(len(cores), goruntime.GOMAXPROCS(0))
	if limit > 0 {
		threads = min(threads, limit)
	}
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
		note = fmt.Sprintf("%s: threads are not bound to cores on %s: %s", name, goruntime.GOOS, unbound(threads))
	case len(use) == 0:
		note = fmt.Sprintf("%s: the cores %s are not among those that this process may use (%s): %s", name, coreList(cores), coreList(allowed), unbound(threads))
	case len(use) < len(cores):
		note = fmt.Sprintf("%s: not all of the cores %s are among those that this process may use (%s): it runs on %s", name, coreList(cores), coreList(allowed), coreList(use))
		threads = min(threads, len(use))
	}
	return use[:min(len(use), threads)], threads, note
}

// unbound describes threads that run on any core.
func unbound(threads int) string {
	if threads == 1 {
		return "its thread runs on any"
	}
	return fmt.Sprintf("its %d threads run on any", threads)
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
