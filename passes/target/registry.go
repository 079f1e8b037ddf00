package target

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// List is the targets of a compilation, highest priority first.
type List struct {
	targets []*Descriptor
	byName  map[string]*Descriptor
}

// NewList returns the list of the targets. Their names have to differ.
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
	if err := checkCores(ds); err != nil {
		return nil, err
	}
	return l, nil
}

// All returns the targets in order. The caller must not change the slice.
func (l *List) All() []*Descriptor { return l.targets }

// Get returns the target of that name, or nil.
func (l *List) Get(name string) *Descriptor { return l.byName[name] }

// Last returns the last target, which has to run everything that no other one runs.
func (l *List) Last() *Descriptor { return l.targets[len(l.targets)-1] }

// MaxWorkers returns the largest number of workers that a program for these targets may have. All targets with workers
// share one worker pool, so this is the smallest of their bounds.
func (l *List) MaxWorkers() int {
	n := maxThreads
	for _, d := range l.targets {
		if d.Workers {
			n = min(n, max(d.Threads, 1))
		}
	}
	return n
}

// Names returns the names of the targets in order, separated by commas.
func (l *List) Names() string {
	names := make([]string, len(l.targets))
	for i, d := range l.targets {
		names[i] = d.Name
	}
	return strings.Join(names, ", ")
}

// Without returns the list without the named targets, which have to be in it. The last target stays in the list even if
// it is named, because it drives the step and its memory has the inputs. The pass assign keeps nodes off it.
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

// builtins are the functions that make the built-in descriptors, in order of priority. Each call makes a new
// descriptor, which the caller may change.
var builtins = []func() *Descriptor{CUDA, Vulkan, GPUSim, Fake, CPUGroup, CPU}

// registered are the functions that make the descriptors of other modules' backends, by name.
var registered = make(map[string]func() *Descriptor)

// Register adds a descriptor to the built-in ones, before all of them. describe makes a new one with each call. Its
// name is also its kind and what it is like. Only init functions call Register, by way of package codegen/backend.
func Register(describe func() *Descriptor) error {
	d := describe()
	if err := checkName("backend", d.Name); err != nil {
		return err
	}
	if strings.Contains(d.Name, ":") || d.Kind != d.Name || d.Like != d.Name {
		return fmt.Errorf("its descriptor has the name %q, the kind %q and is like %q: write one word for all three, without a colon", d.Name, d.Kind, d.Like)
	}
	if Builtin(d.Name) != nil {
		return fmt.Errorf("there is a target %s already: choose another name", d.Name)
	}
	registered[d.Name] = describe
	if err := d.readable(); err != nil {
		delete(registered, d.Name)
		return err
	}
	return nil
}

// readable reports a descriptor whose text does not mean the same, or no target at all: dumps have it.
func (d *Descriptor) readable() error {
	if len(d.Spaces) == 0 {
		return errors.New("its descriptor has no memory: fill in Spaces")
	}
	everything := "target " + d.Name
	for _, f := range fields {
		if v := f.get(d); v != "" {
			everything += " " + f.Name + "=" + v
		}
	}
	l, err := Parse(d.Name, everything)
	if err != nil {
		return fmt.Errorf("its descriptor is not read from its text: %w", err)
	}
	if got := l.All()[0]; got.String() != d.String() {
		return fmt.Errorf("its descriptor prints as %q, which is read as %q", d, got)
	}
	return nil
}

// Builtins returns the built-in descriptors, those of other modules first. The last one can be the last target of a
// list.
func Builtins() []*Descriptor {
	var ds []*Descriptor
	for _, name := range slices.Sorted(maps.Keys(registered)) {
		ds = append(ds, registered[name]())
	}
	for _, b := range builtins {
		ds = append(ds, b())
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

// Select returns the list of the targets that names has, separated by commas, each in the form that New reads. Of
// several cpu targets all but the last become groups: cpu:cores=0-7,cpu:cores=8-15 is the group cpu:0 and the host's
// target cpu:1.
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
	ds, err := groupCPUs(ds)
	if err != nil {
		return nil, err
	}
	return NewList(ds...)
}

// New returns a built-in target with changed fields. text is NAME[:INSTANCE][:FIELD=VALUE]..., such as cpu:threads=8,
// fake:0 or fake:1:queues=2. An instance is a number that distinguishes several targets of the same kind: it becomes
// part of the target's name and of the name of its space. Fields are those of the text form.
func New(text string) (*Descriptor, error) {
	name, rest, more := strings.Cut(text, ":")
	d := Builtin(name)
	if d == nil {
		return nil, fmt.Errorf("unknown target %q: the built-in ones are %s; others are described in a --target-file",
			text, builtinNames())
	}
	var words []string
	if more {
		words = strings.Split(rest, ":")
	}
	for i, word := range words {
		if err := d.parameter(i, word); err != nil {
			return nil, fmt.Errorf("target %s: %w", text, err)
		}
	}
	if field, err := d.contradiction(); err != nil {
		return nil, fmt.Errorf("target %s: %s: %w", text, field, err)
	}
	return d, nil
}

// parameter applies the part after a colon of the text that New reads; i counts these parts from 0.
func (d *Descriptor) parameter(i int, word string) error {
	key, value, isField := strings.Cut(word, "=")
	if isField {
		if key == "like" || key == "kind" {
			return fmt.Errorf("%s is decided by the name: write a --target-file for another", key)
		}
		d.spaceGiven = d.spaceGiven || key == "space"
		return setField(d, key, value)
	}
	if _, err := strconv.ParseUint(word, 10, 31); err != nil || i > 0 {
		return fmt.Errorf("%q is not a parameter: write %s:NUMBER for one of several, or %s:FIELD=VALUE; "+
			"ggmlc targets lists the fields", word, d.kindName(), d.kindName())
	}
	if d.Home() == Host && d.Kind != "cpu" { // several cpu targets have numbers: see groupCPUs
		return fmt.Errorf("there is one %s: leave the number %s out", d.Name, word)
	}
	if d.Spaces[0] == d.Name {
		d.Spaces[0] += ":" + word
	}
	d.Name += ":" + word
	return nil
}

// kindName returns the name without the number of an instance.
func (d *Descriptor) kindName() string {
	name, _, _ := strings.Cut(d.Name, ":")
	return name
}

// builtinNames returns the names of the built-in targets, separated by commas.
func builtinNames() string {
	var names []string
	for _, d := range Builtins() {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}
