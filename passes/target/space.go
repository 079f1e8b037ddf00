package target

// Host is the name of the memory that the program's own processor addresses: where
// inputs come from and outputs go.
const Host = "host"

// Space is a memory space with the limits of all that address it.
type Space struct {
	Name     string
	Align    int64    // bytes
	MaxAlloc int64    // bytes; 0 is no limit
	Targets  []string // that can address it, in the order of the list
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
	return spaces
}

// Space returns the space of that name; without limits if no target addresses it.
func (l *List) Space(name string) Space {
	for _, s := range l.Spaces() {
		if s.Name == name {
			return s
		}
	}
	return Space{Name: name, Align: defaultAlign}
}

func (s *Space) join(d *Descriptor) {
	s.Targets = append(s.Targets, d.Name)
	s.Align = max(s.Align, d.AlignIn(s.Name))
	if d.MaxAlloc > 0 && (s.MaxAlloc == 0 || d.MaxAlloc < s.MaxAlloc) {
		s.MaxAlloc = d.MaxAlloc
	}
}
