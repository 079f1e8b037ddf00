package target

import (
	"errors"
	"fmt"
	"strconv"
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

// MaxWorkers returns the most workers that a program for these targets may have: they share one
// worker pool, so the smallest bound of those whose nodes workers share counts.
func (l *List) MaxWorkers() int {
	n := maxThreads
	for _, d := range l.targets {
		if d.Workers {
			n = min(n, max(d.Threads, 1))
		}
	}
	return n
}

// Names returns the names of the targets, in order, for messages.
func (l *List) Names() string {
	names := make([]string, len(l.targets))
	for i, d := range l.targets {
		names[i] = d.Name
	}
	return strings.Join(names, ", ")
}

// Without returns the list without the named targets, which have to be in it. A denied
// last target stays: it drives the step, and its memory is where inputs come from; that
// nothing runs on it is the business of assign.
func (l *List) Without(names []string) (*List, error) {
	denied := make(map[string]bool)
	for _, name := range names {
		if l.byName[name] == nil {
			return nil, fmt.Errorf("deny %s: there is no such target: there are %s", name, l.Names())
		}
		denied[name] = true
	}
	var keep []*Descriptor
	for _, d := range l.targets {
		if !denied[d.Name] || d == l.Last() {
			keep = append(keep, d)
		}
	}
	return NewList(keep...)
}

// builtins makes the built-in descriptors in order of priority, anew for every call, so
// that a caller may change what it gets.
var builtins = []func() *Descriptor{Fake, CPU}

// Builtins returns the built-in descriptors, those that may stand last in a list last.
func Builtins() []*Descriptor {
	ds := make([]*Descriptor, len(builtins))
	for i, b := range builtins {
		ds[i] = b()
	}
	return ds
}

// Builtin returns the built-in descriptor of that name, without parameters, or nil.
func Builtin(name string) *Descriptor {
	for _, d := range Builtins() {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// Select returns the list of targets that names asks for, separated by commas, each as New
// reads it.
func Select(names string) (*List, error) {
	var ds []*Descriptor
	var errs []error
	for name := range strings.SplitSeq(names, ",") {
		d, err := New(strings.TrimSpace(name))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		ds = append(ds, d)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return NewList(ds...)
}

// New returns the built-in target that text asks for: NAME[:INSTANCE][:FIELD=VALUE]...,
// such as cpu:threads=8, fake:0 or fake:1:queues=2. An instance is a number; each has the
// name with the number, and a space of that name. Fields are those of the text form.
func New(text string) (*Descriptor, error) {
	name, rest, more := strings.Cut(text, ":")
	d := Builtin(name)
	if d == nil {
		return nil, fmt.Errorf("unknown target %q: the built-in ones are %s; others are described in a --target-file", text, builtinNames())
	}
	if !more {
		return d, nil
	}
	for i, word := range strings.Split(rest, ":") {
		if err := d.parameter(i, word); err != nil {
			return nil, fmt.Errorf("target %s: %w", text, err)
		}
	}
	if field, err := d.contradiction(); err != nil {
		return nil, fmt.Errorf("target %s: %s: %w", text, field, err)
	}
	return d, nil
}

// parameter applies the part of a target's name that stands behind colon i.
func (d *Descriptor) parameter(i int, word string) error {
	key, value, isField := strings.Cut(word, "=")
	if isField {
		if key == "like" || key == "kind" {
			return fmt.Errorf("%s is decided by the name: write a --target-file for another", key)
		}
		return setField(d, key, value)
	}
	if _, err := strconv.ParseUint(word, 10, 31); err != nil || i > 0 {
		return fmt.Errorf("%q is no parameter: write %s:NUMBER for one of several, or %s:FIELD=VALUE; ggmlc targets lists the fields", word, d.kindName(), d.kindName())
	}
	if d.Home() == Host {
		return fmt.Errorf("there is one %s: leave the number %s out", d.Name, word)
	}
	if d.Spaces[0] == d.Name {
		d.Spaces[0] += ":" + word
	}
	d.Name += ":" + word
	return nil
}

// kindName returns the name without an instance's number.
func (d *Descriptor) kindName() string {
	name, _, _ := strings.Cut(d.Name, ":")
	return name
}

func builtinNames() string {
	var names []string
	for _, d := range Builtins() {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}
