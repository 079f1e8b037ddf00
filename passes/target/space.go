package target

// Host is the name of the memory of the processor that runs the program. Inputs and outputs of a step are there.
const Host = "host"

// Space is a memory space. Its limits are the strictest of the targets that address it.
//
// Example: a gpu with space=dev,host align=256 and a cpu with space=host align=64 make the space dev with alignment 256
// and the target gpu, and the space host with alignment 256 and the targets gpu, cpu.
type Space struct {
	Name     string
	Align    int64    // alignment of offsets, in bytes
	MaxAlloc int64    // bytes of the largest allocation; 0 is no limit
	Memory   int64    // bytes of the space, from the targets whose home it is; 0 is no limit
	Extra    int64    // bytes after each tensor that a kernel may touch
	Host     bool     // the processor can read its bytes
	Targets  []string // names of the targets that address it, in the order of the list
}

// Room returns how many bytes a tensor of n bytes takes in the space, with Extra and alignment.
func (s Space) Room(n int64) int64 {
	align := max(s.Align, 1)
	return (n + s.Extra + align - 1) / align * align
}

// Spaces returns the memory spaces of the list in the order in which targets name them.
func (l *List) Spaces() []Space {
	var spaces []Space
	index := make(map[string]int)
	for _, d := range l.targets {
		for _, name := range d.Spaces {
			i, known := index[name]
			if !known {
				i = len(spaces)
				index[name] = i
				spaces = append(spaces, Space{Name: name})
			}
			spaces[i].join(d)
		}
	}
	for i := range spaces {
		spaces[i].Host = l.HostReads(spaces[i].Name)
	}
	return spaces
}

// Space returns the space of that name. It has no limits if no target addresses it.
func (l *List) Space(name string) Space {
	for _, s := range l.Spaces() {
		if s.Name == name {
			return s
		}
	}
	return Space{Name: name, Align: defaultAlign}
}

// join adds a target that addresses the space.
func (s *Space) join(d *Descriptor) {
	s.Targets = append(s.Targets, d.Name)
	s.Align = max(s.Align, d.AlignIn(s.Name))
	s.Extra = max(s.Extra, d.Extra)
	s.MaxAlloc = tighter(s.MaxAlloc, d.MaxAlloc)
	if d.Home() == s.Name {
		s.Memory = tighter(s.Memory, d.Memory)
	}
}

// tighter returns the smaller of two limits, or the other one if one is 0.
func tighter(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
