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

// usualThreads is how many workers a pool has if nobody says: one per physical core that
// this process may use, of the fast ones where there are slow ones too, and no more than a
// cgroup gives it time for. A second worker on the same core brings nothing: kernels keep
// the vector units of a core, or its path to memory, busy by themselves. procs is GOMAXPROCS;
// who sets that above the number of processors gets it.
func usualThreads(procs int) int {
	if procs > goruntime.NumCPU() || goruntime.GOOS != "linux" {
		return procs
	}
	m := machine{os.DirFS("/")}
	return max(1, min(procs, m.cores(), m.quota()))
}

// machine reads what Linux tells about processors, in files below root.
type machine struct{ root fs.FS }

// unlimited is what is not known or has no limit.
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

// cores counts the cores among the processors of this process's affinity mask (proc(5),
// Cpus_allowed_list): processors with the same siblings are one (Linux,
// Documentation/admin-guide/cputopology.rst). Cores of less than half the largest capacity
// (Documentation/ABI, cpu_capacity: Arm's) would make the others wait.
func (m machine) cores() int {
	fastest, capacities := 0, make(map[string]int) // by the core's siblings
	for _, cpu := range m.allowed() {
		dir := "sys/devices/system/cpu/cpu" + strconv.Itoa(cpu)
		core := m.line(dir + "/topology/thread_siblings_list")
		if core == "" {
			return unlimited
		}
		capacities[core], _ = strconv.Atoi(m.line(dir + "/cpu_capacity")) // 0: not told, as on x86
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

// parseList reads numbers and ranges, such as 0-3,8; nil if it is something else.
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

// quota is how many processors' time the cgroups of this process have, rounded up: their own
// limit or that of one above, in version 2 (Documentation/admin-guide/cgroup-v2.rst, cpu.max)
// or 1 (Documentation/scheduler/sched-bwc.rst). GOMAXPROCS follows cgroups too, but is never
// below 2 for them, and of half a processor's time two workers make less than one.
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

// limit is the limit of one cgroup under the given controllers, "" in version 2.
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

// processors is quota/period rounded up; what is no limit is written "max" or -1.
func processors(quota, period string) int {
	q, err1 := strconv.Atoi(quota)
	p, err2 := strconv.Atoi(period)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
		return unlimited
	}
	return (q + p - 1) / p
}
