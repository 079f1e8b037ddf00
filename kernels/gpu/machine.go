package gpu

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// Machine is what kernels may assume about the GPU that runs them. The zero Machine is any GPU.
type Machine struct {
	// Caps are the capabilities of package kir that it has.
	Caps kir.Caps

	// Lanes is the number of threads of its subgroups; 0 if it is not known before the program runs.
	Lanes int
}

// has reports whether kernels may use capabilities.
func (m Machine) has(c kir.Caps) bool { return m.Caps&c == c }

// machines are the backends that compute with kernels of this package.
var machines = map[string]Machine{
	"cuda":   {Caps: kir.CapSubgroup | kir.CapF16 | kir.CapDot4, Lanes: 32},
	"gpusim": {Caps: kir.CapSubgroup | kir.CapF16 | kir.CapDot4 | kir.CapTile | kir.CapAsync}, // subgroups of any size
	"vulkan": {Caps: kir.CapSubgroup},
}

// later are the machines that some targets of a kind are besides.
var later = map[string][]Machine{
	"cuda": {{Caps: kir.CapSubgroup | kir.CapF16 | kir.CapDot4 | kir.CapAsync | kir.CapTile, Lanes: 32}}, // from 8.0 on
}

// Later returns what kernels may assume about later devices of a kind, in the order in which they came. Programs have
// kernels for these, too, where they differ.
func Later(kind string) []Machine { return later[kind] }

// slabs are the machines of a kind whose devices multiply slabs, if a target asks for that.
var slabs = map[string]Machine{
	"cuda": {Caps: later["cuda"][0].Caps | kir.CapSlab, Lanes: 32}, // of 9.0, not later ones
}

// Slabs returns what kernels may assume about those devices of a kind that multiply slabs, and whether there are such.
func Slabs(kind string) (m Machine, ok bool) {
	m, ok = slabs[kind]
	return m, ok
}

// Of returns what kernels may assume about targets of a kind, and whether they compute with kernels of this package.
func Of(kind string) (m Machine, ok bool) {
	m, ok = machines[kind]
	return m, ok
}
