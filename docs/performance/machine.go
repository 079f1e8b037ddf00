package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc/stat: USER_HZ is 100 on all Linux systems of today
// (proc(5)).
const tick = 10 * time.Millisecond

// busyTime is how long all processors together have worked, for anybody, or have been taken
// away by a hypervisor. It is 0 where the system does not tell.
func busyTime() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return parseBusy(first)
}

// parseBusy reads the first line of /proc/stat: user, nice, system, idle, iowait, irq,
// softirq, steal (proc(5)); guest time is part of user time.
func parseBusy(line string) (busy time.Duration) {
	fields := strings.Fields(line)
	for i := 1; i < len(fields) && i <= 8; i++ {
		if i == 4 || i == 5 {
			continue
		}
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0
		}
		busy += time.Duration(n) * tick
	}
	return busy
}

// othersShare is what of the processors' time others have used; 0 where the time was too short to
// tell.
func othersShare(busy, own, wall time.Duration) float64 {
	if wall < 20*tick {
		return 0
	}
	return max(0, float64(busy-own)/float64(wall)/float64(runtime.NumCPU()))
}

// machineName describes this machine in one line.
func machineName() string {
	cpu := cpuInfo()
	parts := []string{fmt.Sprintf("%s (family %s, model %s)", orUnknown(cpu["model name"]), orUnknown(cpu["cpu family"]), orUnknown(cpu["model"])),
		fmt.Sprintf("%d processors", runtime.NumCPU())}
	for _, index := range []string{"index2", "index3"} {
		dir := filepath.Join("/sys/devices/system/cpu/cpu0/cache", index)
		if size := line(filepath.Join(dir, "size")); size != "" {
			parts = append(parts, fmt.Sprintf("L%s %s", line(filepath.Join(dir, "level")), size))
		}
	}
	if release := line("/proc/sys/kernel/osrelease"); release != "" {
		parts = append(parts, "Linux "+release)
	}
	return strings.Join(append(parts, runtime.Version()), ", ")
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// cpuInfo is the first processor's entry in /proc/cpuinfo.
func cpuInfo() map[string]string {
	info := make(map[string]string)
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return info
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan() && s.Text() != ""; {
		if key, value, ok := strings.Cut(s.Text(), ":"); ok {
			info[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return info
}

// line is the first line of a file, or "".
func line(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(first)
}
