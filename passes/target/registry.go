package target

import (
	"fmt"
	"strings"
)

// List is the targets of a compilation in order of priority.
type List struct {
	targets []*Descriptor
	byName  map[string]*Descriptor
}

// NewList returns the list of the targets, highest priority first. Names have to differ.
func NewList(ds ...*Descriptor) (*List, error) {
	if len(ds) == 0 {
		return nil, fmt.Errorf("no targets: name at least one, such as cpu")
	}
	l := &List{byName: make(map[string]*Descriptor, len(ds))}
	for _, d := range ds {
		if l.byName[d.Name] != nil {
			return nil, fmt.Errorf("target %q is listed twice", d.Name)
		}
		l.byName[d.Name] = d
		l.targets = append(l.targets, d)
	}
	return l, nil
}

// All returns the targets in order; the slice must not be changed.
func (l *List) All() []*Descriptor { return l.targets }

// Get returns the target of that name, or nil.
func (l *List) Get(name string) *Descriptor { return l.byName[name] }

// Last returns the target that has to run what no other does.
func (l *List) Last() *Descriptor { return l.targets[len(l.targets)-1] }

// Names returns the names of the targets, in order, for messages.
func (l *List) Names() string {
	names := make([]string, len(l.targets))
	for i, d := range l.targets {
		names[i] = d.Name
	}
	return strings.Join(names, ", ")
}

// Without returns the list without the named targets, which have to be in it. The last
// target cannot be denied.
func (l *List) Without(names []string) (*List, error) {
	denied := make(map[string]bool)
	for _, name := range names {
		switch {
		case l.byName[name] == nil:
			return nil, fmt.Errorf("deny %s: there is no such target: there are %s", name, l.Names())
		case name == l.Last().Name:
			return nil, fmt.Errorf("deny %s: the last target runs what no other does: it cannot be left out", name)
		}
		denied[name] = true
	}
	var keep []*Descriptor
	for _, d := range l.targets {
		if !denied[d.Name] {
			keep = append(keep, d)
		}
	}
	return NewList(keep...)
}

// builtins makes the built-in descriptors, anew for every call, so that a caller may
// change what it gets.
var builtins = []func() *Descriptor{CPU}

// Builtins returns the built-in descriptors.
func Builtins() []*Descriptor {
	ds := make([]*Descriptor, len(builtins))
	for i, b := range builtins {
		ds[i] = b()
	}
	return ds
}

// Builtin returns the built-in descriptor of that name, or nil.
func Builtin(name string) *Descriptor {
	for _, d := range Builtins() {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// Select returns the list of built-in targets that names, separated by commas, asks for.
func Select(names string) (*List, error) {
	var ds []*Descriptor
	for name := range strings.SplitSeq(names, ",") {
		d := Builtin(strings.TrimSpace(name))
		if d == nil {
			return nil, fmt.Errorf("unknown target %q: the built-in ones are %s", name, builtinNames())
		}
		ds = append(ds, d)
	}
	return NewList(ds...)
}

func builtinNames() string {
	var names []string
	for _, d := range Builtins() {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}
