package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// machine is a random list of targets in the form of a target file.
type machine struct {
	names  []string // of the targets; the CPU is last
	spaces []string // that have a name
	lines  []string
}

// text returns the target file.
func (m *machine) text() string { return strings.Join(m.lines, "\n") + "\n" }

// randomMachine draws up to three devices and the CPU, some of which may share a memory.
func randomMachine(d draw) *machine {
	m := &machine{}
	for i := range pick(d, 0, 1, 1, 2, 2, 2, 3) {
		name := pick(d, fmt.Sprintf("d%d", i), fmt.Sprintf("fake:%d", i))
		m.names = append(m.names, name)
		m.lines = append(m.lines, m.device(d, name, fmt.Sprintf("m%d", i)))
	}
	m.names = append(m.names, "cpu")
	m.spaces = append(m.spaces, "host")
	m.lines = append(m.lines, processor(d))
	return m
}

// leaveOut removes the fields of a comma-separated list.
func (m *machine) leaveOut(fields string) {
	if fields == "" {
		return
	}
	field := regexp.MustCompile(" (" + strings.ReplaceAll(fields, ",", "|") + `)=\S+`)
	for i, line := range m.lines {
		m.lines[i] = field.ReplaceAllString(line, "")
	}
}

// driven makes all devices but those called fake GPUs like a built-in target. Each device has memory of its own, that
// of the CPU, or both.
func (m *machine) driven(like string) {
	spaces, shared, other := regexp.MustCompile(` space=(\S+)`), regexp.MustCompile(` (opaque|alignin)=\S+`), regexp.MustCompile(` (ops|memory)=\S+`)
	for i, line := range m.lines[:len(m.lines)-1] {
		if !strings.HasPrefix(m.names[i], "fake") {
			line = other.ReplaceAllString(strings.Replace(line, "like=fake", "like="+like, 1), "")
		}
		drawn := strings.Split(spaces.FindStringSubmatch(line)[1], ",")
		m.lines[i] = spaces.ReplaceAllString(shared.ReplaceAllString(line, ""), " space="+reached(drawn, fmt.Sprintf("m%d", i)))
	}
}

// reached replaces all spaces of a device but the CPU's by its own memory.
func reached(drawn []string, own string) string {
	var list []string
	for _, space := range drawn {
		if space != "host" {
			space = own
		}
		if !slices.Contains(list, space) {
			list = append(list, space)
		}
	}
	return strings.Join(list, ",")
}

// device draws a simulated device, or a group of threads. space is the name of its own memory, if it has one.
func (m *machine) device(d draw, name, space string) string {
	var b strings.Builder
	memory := m.memory(d, space)
	first, _, _ := strings.Cut(memory, ",")
	isGroup := d.oneIn(3)
	if isGroup { // of threads of the processor; cores that a machine does not have bind none
		from := 100 * len(m.names)
		fmt.Fprintf(&b, "target %s like=cpugroup space=%s cores=%d-%d", name, memory, from, from+pick(d, 0, 1, 2, 4))
	} else {
		fmt.Fprintf(&b, "target %s like=fake space=%s", name, memory)
	}
	field := func(odds int, name string, values ...string) {
		if d.oneIn(odds) {
			fmt.Fprintf(&b, " %s=%s", name, pick(d, values...))
		}
	}
	if queues := pick(d, "0", "0", "1", "1", "2"); !isGroup {
		fmt.Fprintf(&b, " queues=%s", queues)
	}
	field(2, "events", "true", "false")
	field(4, "extra", "1", "4", "64", "100", "512", "4096")
	field(5, "align", "1", "4", "32", "128", "256", "4096")
	field(6, "maxalloc", "20kB", "31KiB", "70kB", "140kB", "1MiB")
	field(8, "memory", "100kB", "400kB", "2MiB")
	field(5, "maxinputs", "1", "2", "3", "4")
	field(5, "ops", randomOps(d))
	field(6, "merge", "true", "false")
	field(8, "offload", "matmul", "matmul@0", "matmul,gather")
	field(8, "offloadrows", "0", "1", "2", "4")
	field(8, "opaque", first)
	field(8, "alignin", first+":128", first+":256", first+":1")
	if d.oneIn(2) { // fast enough to be used for small models
		b.WriteString(" flops=1e15 qops=1e15 bandwidth=1e14 workerbw=1e14 launch=1e-9 link=1e13 linkout=1e13 linkdelay=1e-9")
	}
	return b.String()
}

// memory draws the spaces of a device: its own, another's, the CPU's, or several.
func (m *machine) memory(d draw, own string) string {
	space := own
	if len(m.spaces) > 0 && d.oneIn(4) {
		space = pick(d, m.spaces...)
	} else if d.oneIn(4) {
		space = "host"
	}
	m.spaces = append(m.spaces, space)
	if second := pick(d, append(m.spaces, "host")...); second != space && d.oneIn(5) {
		space += "," + second
	}
	return space
}

// randomOps leaves some ops out, or lists the few that the device has.
func randomOps(d draw) string {
	ops := []string{"matmul", "rms_norm", "rope", "rope_table", "attention", "state_write", "gather", "matmul_swiglu",
		"add", "mul", "silu", "copy", "softmax", "quantize", "rms_norm_quantize", "cast", "swiglu", "attention_segments", "attention_combine"}
	if d.oneIn(3) {
		return d.some(8, ops...)
	}
	left := strings.Split(d.some(3, ops...), ",")
	return "-" + strings.Join(left, ",-")
}

// processor draws the last target, the CPU.
func processor(d draw) string {
	var b strings.Builder
	b.WriteString("target cpu like=cpu")
	field := func(odds int, name string, values ...string) {
		if d.oneIn(odds) {
			fmt.Fprintf(&b, " %s=%s", name, pick(d, values...))
		}
	}
	field(2, "threads", "1", "1", "2", "3", "5", "8", "64")
	field(4, "hint", "1", "2", "4", "16", "64")
	field(12, "align", "1", "4", "16", "128", "4096")
	field(8, "extra", "1", "64", "100", "4096")
	field(16, "maxalloc", "31KiB", "140kB", "1MiB")
	field(6, "barrier", "1e-9", "1e-3")
	field(8, "merge", "true")
	field(16, "events", "true")
	field(16, "workers", "false")
	return b.String()
}
