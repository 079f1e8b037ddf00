package target

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// CPUGroup returns the descriptor of a group of the processor's threads that is a target of its own. It has the kernels
// of the CPU, cores of its own, memory of its own, and a queue whose nodes all of its threads share. Select makes one
// of each cpu target before the last.
func CPUGroup() *Descriptor {
	return &Descriptor{
		Name:    "cpugroup",
		Kind:    "cpugroup",
		Like:    "cpugroup",
		Doc:     "threads of the processor with cores and memory of their own: cpu:cores=0-7 before the last cpu target",
		Spaces:  []string{"cpugroup"},
		Rows:    cpuRows(),
		Segment: tile.SegmentLen,
		Threads: 1,
		Hint:    1,
		Cores:   []int{0},
		Queues:  1,
		Events:  true,
		Align:   defaultAlign,
		Rates:   groupRates(),

		Concurrent: true,
	}
}

// groupRates returns the rates of the CPU with those of a group's queue. A copy into the memory of a group is one of
// the processor's. Its delay is the time until a thread of the group, which waits for work, has seen it.
func groupRates() Rates {
	r := cpuRates
	r.LinkDelay = 3e-6
	return r
}

// IsGroup reports whether threads of the processor run the target's queue.
func (d *Descriptor) IsGroup() bool { return d.Kind == "cpugroup" }

// maxCore is the largest number of a core. Linux has at most 8192 processors (NR_CPUS).
const maxCore = 8191

// setCores reads the cores of a target, such as 0-7 or 0-3+8-11. There is one thread for each of them.
func setCores(d *Descriptor, value string) error {
	var cores []int
	for part := range strings.SplitSeq(value, "+") {
		lo, hi, err := coreRange(part)
		if err != nil {
			return err
		}
		for core := lo; core <= hi; core++ {
			if slices.Contains(cores, core) {
				return fmt.Errorf("core %d is listed twice", core)
			}
			if cores = append(cores, core); len(cores) > maxThreads {
				return fmt.Errorf("%s has more than %d cores, the most threads of a target", value, maxThreads)
			}
		}
	}
	d.Cores = cores
	d.Threads, d.Hint = len(cores), len(cores)
	return nil
}

// coreRange reads a number or FROM-TO.
func coreRange(text string) (lo, hi int, err error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	lo, err1 := strconv.Atoi(from)
	hi, err2 := strconv.Atoi(to)
	switch {
	case err1 != nil || err2 != nil || !isDigit(from) || !isDigit(to):
		return 0, 0, fmt.Errorf("%q is no core and no range of cores: write numbers and ranges with + between them, such as 0-3+8", text)
	case hi > maxCore || lo > maxCore:
		return 0, 0, fmt.Errorf("core %d: the largest number of a core is %d", max(lo, hi), maxCore)
	case lo > hi:
		return 0, 0, fmt.Errorf("the range %s is empty: the first core is larger than the last", text)
	}
	return lo, hi, nil
}

// isDigit reports whether a number begins with a digit, not with a sign.
func isDigit(number string) bool { return number != "" && '0' <= number[0] && number[0] <= '9' }

// CoresText returns the cores of a target as a field has them, such as 0-3+8; empty if it names none.
func CoresText(d *Descriptor) string {
	var parts []string
	for i := 0; i < len(d.Cores); {
		end := i + 1
		for end < len(d.Cores) && d.Cores[end] == d.Cores[end-1]+1 {
			end++
		}
		text := strconv.Itoa(d.Cores[i])
		if end-i > 1 {
			text += "-" + strconv.Itoa(d.Cores[end-1])
		}
		parts = append(parts, text)
		i = end
	}
	return strings.Join(parts, "+")
}

// groupCPUs gives several cpu targets of a list names of their own: cpu:0, cpu:1 and so on, in order. A target with a
// number keeps its name. The last cpu target remains the host's, all others become groups. With one cpu target nothing
// changes.
func groupCPUs(ds []*Descriptor) ([]*Descriptor, error) {
	cpus := slices.DeleteFunc(slices.Clone(ds), func(d *Descriptor) bool { return d.Kind != "cpu" })
	if len(cpus) == 1 && cpus[0].Name != "cpu" {
		return nil, fmt.Errorf("there is one cpu: leave the number of %s out", cpus[0].Name)
	}
	if len(cpus) < 2 {
		return ds, nil
	}
	var errs []error
	out := slices.Clone(ds)
	for i, d := range cpus {
		name := d.Name
		if name == "cpu" {
			name = "cpu:" + strconv.Itoa(i)
		}
		if d.Name = name; i == len(cpus)-1 {
			continue
		}
		if len(d.Cores) == 0 {
			errs = append(errs, fmt.Errorf("target %s: of several cpu targets each but the last needs cores of its own: write cpu:cores=0-3,cpu:cores=4-7", name))
			continue
		}
		g, err := d.asGroup()
		if err != nil {
			errs = append(errs, fmt.Errorf("target %s: %w", name, err))
			continue
		}
		out[slices.Index(out, d)] = g
	}
	return out, errors.Join(errs...)
}

// asGroup returns the group with the name and the changed fields of a cpu target. Its memory is a space of its name,
// unless the target names another one than host.
func (d *Descriptor) asGroup() (*Descriptor, error) {
	g, cpu := CPUGroup(), CPU()
	g.Name, g.Spaces, g.Cores = d.Name, []string{d.Name}, nil
	for _, f := range fields {
		if f.Name == "like" || f.Name == "kind" || f.get(d) == f.get(cpu) {
			continue
		}
		if err := f.set(g, f.get(d)); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if d.spaceGiven {
		g.Spaces = d.Spaces
	}
	if field, err := g.contradiction(); err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return g, nil
}

// groupContradiction is contradiction for a group.
func (d *Descriptor) groupContradiction() (field string, err error) {
	switch {
	case len(d.Cores) == 0:
		return "cores", fmt.Errorf("a group needs cores: write cores=0-7")
	case d.Threads > len(d.Cores):
		return "threads", fmt.Errorf("%s has %d threads and %d cores: each thread needs one", d.Name, d.Threads, len(d.Cores))
	case d.Queues != 1 || d.Workers:
		return "queues", fmt.Errorf("the threads of %s have one queue, and copy too: leave queues and workers out", d.Name)
	}
	return "", nil
}

// checkCores returns an error if two targets of a list have a core in common, or if targets whose nodes the same
// threads share have cores.
func checkCores(ds []*Descriptor) error {
	owner := make(map[int]*Descriptor)
	var host *Descriptor
	for _, d := range ds {
		if d.Workers && host != nil && len(d.Cores)+len(host.Cores) > 0 {
			return fmt.Errorf("targets %s and %s: the same threads share the nodes of both, and only one can name their cores: write like=cpugroup for the other", host.Name, d.Name)
		}
		if d.Workers {
			host = d
		}
		for _, core := range d.Cores {
			if o := owner[core]; o != nil {
				return fmt.Errorf("core %d belongs to both %s and %s: give each target cores of its own", core, o.Name, d.Name)
			}
			owner[core] = d
		}
	}
	return nil
}
