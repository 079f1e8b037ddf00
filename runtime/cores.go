package runtime

import (
	"io/fs"
	"math"
	"os"
	"path"
	goruntime "runtime"
	"strconv"
	"strings"
)

// usualThreads returns the number of workers of a pool for which the caller gives none: one per physical core that
// this process may use, without slow cores where there are fast ones, and no more than its cgroup has processor time
// for. A second worker on the same core gains nothing, as one kernel alone keeps the vector units of the core, or its
// path to memory, busy. procs is GOMAXPROCS; a value above the number of processors is taken as it is.
func usualThreads(procs int) int {
	if procs > goruntime.NumCPU() || goruntime.GOOS != "linux" {
		return procs
	}
	m := machine{os.DirFS("/")}
	return max(1, min(procs, m.cores(), m.quota()))
}

// machine reads what Linux reports about processors, in files below root.
type machine struct{ root fs.FS }

// unlimited is used for a number that is unknown or has no limit.
const unlimited = math.MaxInt

// line returns the first line of a file, "" if there is none.
func (m machine) line(name string) string {
	text, err := fs.ReadFile(m.root, strings.TrimPrefix(name, "/"))
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(first)
}

// cores counts the cores among the processors of this process's affinity mask (proc(5), Cpus_allowed_list).
// Processors with the same siblings are one core (Linux, Documentation/admin-guide/cputopology.rst). Cores of less
// than half the largest capacity (Documentation/ABI, cpu_capacity, reported on Arm) do not count: the others would
// wait for them.
func (m machine) cores() int {
	fastest, capacities := 0, make(map[string]int) // by the core's siblings
	for _, cpu := range m.allowed() {
		dir := "sys/devices/system/cpu/cpu" + strconv.Itoa(cpu)
		core := m.line(dir + "/topology/thread_siblings_list")
		if core == "" {
			return unlimited
		}
		capacities[core], _ = strconv.Atoi(m.line(dir + "/cpu_capacity")) // 0: not reported, as on x86
		fastest = max(fastest, capacities[core])
	}
	count := 0
	for _, c := range capacities {
		if 2*c >= fastest {
			count++
		}
	}
	if count == 0 {
		return unlimited
	}
	return count
}

// allowed returns the processors that this process may run on.
func (m machine) allowed() []int {
	status, err := fs.ReadFile(m.root, "proc/self/status")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(status)) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			return parseList(strings.TrimSpace(list))
		}
	}
	return nil
}

// parseList reads numbers and ranges, such as 0-3,8. It returns nil for any other text.
func parseList(text string) (list []int) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		lo, err1 := strconv.Atoi(from)
		hi, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || lo < 0 || hi-lo > 1<<16 {
			return nil
		}
		for ; lo <= hi; lo++ {
			list = append(list, lo)
		}
	}
	return list
}

// quota returns the number of processors whose time the cgroups of this process have, rounded up. It is the least of
// their own limits and those of their parents, in version 2 (Documentation/admin-guide/cgroup-v2.rst, cpu.max) or 1
// (Documentation/scheduler/sched-bwc.rst). GOMAXPROCS follows cgroups too, but is never set below 2 by them; with
// half a processor's time, two workers are slower than one.
func (m machine) quota() int {
	groups, err := fs.ReadFile(m.root, "proc/self/cgroup")
	if err != nil {
		return unlimited
	}
	least := unlimited
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(fields) < 3 {
			continue
		}
		for dir := path.Clean("/" + fields[2]); ; dir = path.Dir(dir) {
			least = min(least, m.limit(fields[1], dir))
			if dir == "/" {
				break
			}
		}
	}
	return least
}

// limit returns the limit of one cgroup under the given controllers, which are "" in version 2.
func (m machine) limit(controllers, dir string) int {
	if controllers == "" {
		quota, period, _ := strings.Cut(m.line("sys/fs/cgroup"+path.Join("/", dir, "cpu.max")), " ")
		return processors(quota, period)
	}
	for name := range strings.SplitSeq(controllers, ",") {
		if name == "cpu" {
			at := "sys/fs/cgroup/cpu" + path.Clean("/"+dir) + "/"
			return processors(m.line(path.Clean(at+"cpu.cfs_quota_us")), m.line(path.Clean(at+"cpu.cfs_period_us")))
		}
	}
	return unlimited
}

// processors returns quota/period rounded up. An absent limit is written "max" or -1.
func processors(quota, period string) int {
	q, err1 := strconv.Atoi(quota)
	p, err2 := strconv.Atoi(period)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
		return unlimited
	}
	return (q + p - 1) / p
}
