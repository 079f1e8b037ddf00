package interp

import "fmt"

// Section is launches that may run at the same time, and the accesses that they have made. Their groups count as groups
// of one launch: what two of them access in turn, one of them writing, is a race.
type Section struct {
	memory   *Memory
	regions  []region
	launches []begun
	groups   int // of all launches
}

// begun is a launch of a section.
type begun struct {
	kernel string
	from   int // the first of its groups among those of the section
}

// NewSection returns a section without launches. As long as it is used, no memory is allocated.
func (m *Memory) NewSection() *Section {
	s := &Section{memory: m, regions: make([]region, len(m.allocations))}
	for i, a := range m.allocations {
		s.regions[i].allocation = a
	}
	return s
}

// Run runs a program as [Run] does, in the order of a seed. The launch counts as running at the same time as those
// before.
func (s *Section) Run(p *Program, l Launch, seed uint64) error {
	switch {
	case l.Groups < 1 || l.Groups > maxGroups-s.groups:
		return launchFault(p.kernel, Launching, "%d workgroups: want 1 to %d", l.Groups, maxGroups-s.groups)
	case len(l.Args) != len(p.args):
		return launchFault(p.kernel, Launching, "%d arguments for %d", len(l.Args), len(p.args))
	}
	s.launches = append(s.launches, begun{p.kernel.Name, s.groups})
	m := newMachine(p, l, s, seed)
	m.run()
	s.groups += l.Groups
	if m.fault != nil {
		return m.fault
	}
	return nil
}

// own returns an access of a group of the last launch as one of the section.
func (s *Section) own(a access) access { return a + access(s.groups)<<40 }

// name names the threads of an access, by their launch if it is not the last one.
func (s *Section) name(a access) string {
	if a>>40 == manyGroups {
		return a.String()
	}
	last := len(s.launches) - 1
	at := last
	for s.launches[at].from > a.group() {
		at--
	}
	text := (a - access(s.launches[at].from)<<40).String()
	if at < last {
		text += fmt.Sprintf(" of %s, which may run at the same time", s.launches[at].kernel)
	}
	return text
}
