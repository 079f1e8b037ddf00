package runtime

import (
	"reflect"
	"strconv"
	"testing"
	"testing/fstest"
)

// topology returns the files of a machine: for each processor its siblings and its capacity, which is "" if it is not
// reported.
func topology(allowed string, cpus ...[2]string) fstest.MapFS {
	files := fstest.MapFS{"proc/self/status": {Data: []byte("Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t" + allowed + "\n")}}
	for i, cpu := range cpus {
		dir := "sys/devices/system/cpu/cpu" + strconv.Itoa(i)
		files[dir+"/topology/thread_siblings_list"] = &fstest.MapFile{Data: []byte(cpu[0] + "\n")}
		if cpu[1] != "" {
			files[dir+"/cpu_capacity"] = &fstest.MapFile{Data: []byte(cpu[1] + "\n")}
		}
	}
	return files
}

func TestCoresCountsFastCoresOfTheMask(t *testing.T) {
	pair, alone := [][2]string{{"0,2"}, {"1,3"}, {"0,2"}, {"1,3"}}, [][2]string{{"0"}, {"1"}, {"2"}, {"3"}}
	little := [][2]string{{"0", "1024"}, {"1", "1024"}, {"2", "446"}, {"3", "446"}}
	for _, c := range []struct {
		name string
		fs   fstest.MapFS
		want int
	}{
		{"a processor per core", topology("0-3", alone...), 4},
		{"two hyper-threads per core", topology("0-3", pair...), 2},
		{"one of a core's hyper-threads", topology("2", pair...), 1},
		{"a core and a half", topology("0,2-3", pair...), 2},
		{"little cores", topology("0-3", little...), 2},
		{"little cores alone", topology("2,3", little...), 2},
		{"nothing is told", fstest.MapFS{}, unlimited},
		{"no such processor", topology("0-8", alone...), unlimited},
		{"no list", topology("all", alone...), unlimited},
	} {
		if got := (machine{c.fs}).cores(); got != c.want {
			t.Errorf("%s: %d cores, want %d", c.name, got, c.want)
		}
	}
}

func TestParseListReadsNumbersAndRanges(t *testing.T) {
	for text, want := range map[string][]int{"0": {0}, "0-2,5": {0, 1, 2, 5}, "": nil, "0-": nil, "a": nil, "-1": nil, "0-99999999": nil, "3-1": nil} {
		if got := parseList(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestQuotaIsTheLeastOfAllCgroups(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for _, c := range []struct {
		name string
		fs   fstest.MapFS
		want int
	}{
		{"none", fstest.MapFS{"proc/self/cgroup": file("0::/\n")}, unlimited},
		{"no cgroups", fstest.MapFS{}, unlimited},
		{"half a processor", fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/cpu.max": file("50000 100000\n")}, 1},
		{"one and a half", fstest.MapFS{"proc/self/cgroup": file("0::/a\n"), "sys/fs/cgroup/a/cpu.max": file("150000 100000\n")}, 2},
		{"that of the group above", fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/cpu.max": file("max 100000\n"), "sys/fs/cgroup/a/cpu.max": file("300000 100000\n")}, 3},
		{"in a container", fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/cpu.max": file("200000 100000\n")}, 2},
		{"version 1", fstest.MapFS{"proc/self/cgroup": file("9:name=systemd:/\n2:cpu,cpuacct:/a\n0::/\n"),
			"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": file("50000\n"), "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": file("100000\n")}, 1},
		{"version 1 without a limit", fstest.MapFS{"proc/self/cgroup": file("1:cpu:/\n"),
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us": file("-1\n"), "sys/fs/cgroup/cpu/cpu.cfs_period_us": file("100000\n")}, unlimited},
		{"nonsense", fstest.MapFS{"proc/self/cgroup": file("0\n\n1:2\n0::../..\n"), "sys/fs/cgroup/cpu.max": file("a b c\n")}, unlimited},
	} {
		if got := (machine{c.fs}).quota(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestUsualThreadsIsAtMostGOMAXPROCS(t *testing.T) {
	if got := usualThreads(1); got != 1 {
		t.Errorf("%d threads on one processor", got)
	}
	if got := usualThreads(1000); got != 1000 {
		t.Errorf("%d threads where GOMAXPROCS was set to 1000", got)
	}
}
