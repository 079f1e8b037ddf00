// Package backend registers backends that other modules bring: their descriptor, their kernels' calls and their package.
//
// A Backend joins what the compiler has to know: a descriptor for the passes, a function for each op that writes the
// call of its kernel, and the source of the package that programs link. A module registers it in an init function, and
// a main package imports that module and calls cmd.Main. docs/explanation/backends.md has the design.
package backend

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/runtime"
)

// Backend is a backend of another module.
type Backend struct {
	// Target makes the descriptor. Its name is a word of lower-case letters and digits, which is also its kind and what
	// it is like.
	Target func() *target.Descriptor

	// Kernels has a function for each op of the descriptor's rows. It returns the call that computes a node whose
	// operands fit one of the rows, after all passes. Equal nodes have equal calls.
	Kernels map[ir.Op]Kernel

	// Module is the path of the module, such as example.com/npu, and Package that of its package which programs link,
	// such as example.com/npu/npurt. The name of that package is the last word of its path. It declares
	//
	//	const Version = 1    // of the package; a change that breaks emitted code raises it
	//	const Generation = 5 // of package runtime, for which the package is written
	//	type Loader struct…  // its zero value opens the devices: *Loader is a runtime.Loader
	//	type Kernel func(e *Env, iteration int) // the type of runtime.Command.Kernel
	//	type Env struct{ *runtime.Block … }     // kernels are methods of *Env
	Module, Package string

	// Sources has the Go files of the module that programs need, by their paths in the module. Files that end in
	// _test.go are ignored.
	Sources fs.FS

	descriptor *target.Descriptor
	version    int
	driver     bool            // the sources call a driver through purego
	methods    map[string]bool // of *Env
}

// Name returns the name of the backend, which is that of its descriptor.
func (b *Backend) Name() string { return b.Target().Name }

// Version returns the version of the package that programs link.
func (b *Backend) Version() int { return b.version }

// PackageName returns the name of the package that programs link.
func (b *Backend) PackageName() string { return path.Base(b.Package) }

// LoaderName returns the name of the variable that opens the devices in emitted code.
func (b *Backend) LoaderName() string { return b.Name() + "Loader" }

// CallsDriver reports whether the sources import purego, which programs take from the module cache.
func (b *Backend) CallsDriver() bool { return b.driver }

// Call returns the call that computes a node. The error states why there is none: a target file may claim that a
// backend runs more than its own descriptor does.
func (b *Backend) Call(n *ir.Node) (Call, error) {
	k := b.Kernels[n.Op]
	if k == nil {
		return Call{}, fmt.Errorf("the backend %s has no kernel for %v", b.Name(), n.Op)
	}
	if row, why := b.descriptor.Kernel(n); row == nil || !b.descriptor.Reads(n) {
		return Call{}, fmt.Errorf("the backend %s does not read these operands of %v: %s", b.Name(), n.Op, cmp.Or(why, "they are in other formats"))
	}
	c, err := k.call(n)
	if err != nil {
		return Call{}, fmt.Errorf("the backend %s has no kernel for this %v: %w", b.Name(), n.Op, err)
	}
	if !b.methods[c.Method] {
		return Call{}, fmt.Errorf("the backend %s computes %v with Env.%s, which %s does not declare", b.Name(), n.Op, c.Method, b.Package)
	}
	return c, nil
}

// registry is a set of backends.
type registry struct {
	byName map[string]*Backend
	errs   []error
}

var all = &registry{byName: make(map[string]*Backend)}

// Register adds a backend. It is called by init functions. Err returns what is wrong with the backend.
func Register(b Backend) { all.register(&b) }

// NewLayout declares a layout that a backend of another module reads, for the initialization of a variable. Err returns
// what is wrong with it.
func NewLayout(p dtype.Packing) dtype.Layout {
	l, err := dtype.NewLayout(p)
	if err != nil {
		all.errs = append(all.errs, err)
	}
	return l
}

// Err returns what is wrong with the registered backends; nil if nothing is. Nothing is compiled if it is an error.
func Err() error { return errors.Join(all.errs...) }

// Get returns the backend of that name, which is also the kind of its targets; nil if there is none.
func Get(name string) *Backend { return all.byName[name] }

// All returns the registered backends in the order of their names.
func All() []*Backend {
	var list []*Backend
	for _, name := range slices.Sorted(maps.Keys(all.byName)) {
		list = append(list, all.byName[name])
	}
	return list
}

func (r *registry) register(b *Backend) {
	if err := r.add(b); err != nil {
		name := "without a descriptor"
		if b.Target != nil {
			name = b.Name()
		}
		r.errs = append(r.errs, fmt.Errorf("backend %s of %s: %w", name, b.Module, err))
	}
}

// word is what the name of a backend looks like: it is part of names in emitted code.
var word = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

func (r *registry) add(b *Backend) error {
	if b.Target == nil || b.Sources == nil {
		return errors.New("its Target or its Sources is nil: fill in both")
	}
	name := b.Name()
	if !word.MatchString(name) {
		return fmt.Errorf("%q is not a name for a backend: write a lower-case letter, and then lower-case letters and digits", name)
	}
	if other := r.byName[name]; other != nil {
		return fmt.Errorf("%s has registered a backend of this name: import one of the two", other.Module)
	}
	for _, other := range r.byName {
		if other.PackageName() == b.PackageName() {
			return fmt.Errorf("its package and that of %s are both called %s, and one file may import both: rename one", other.Module, b.PackageName())
		}
	}
	if err := errors.Join(b.checkKernels(), b.readSources()); err != nil {
		return err
	}
	b.descriptor = b.Target()
	if err := target.Register(b.Target); err != nil {
		return err
	}
	r.byName[name] = b
	return nil
}

// checkKernels reports ops of the descriptor without kernels, and ops with kernels that the descriptor lacks.
func (b *Backend) checkKernels() error {
	var errs []error
	d := b.Target()
	claimed := make(map[ir.Op]bool)
	for _, r := range d.Rows {
		if !claimed[r.Op] && b.Kernels[r.Op] == nil {
			errs = append(errs, fmt.Errorf("its descriptor has a row for %v, and Kernels has no function: add one, or leave the row out", r.Op))
		}
		claimed[r.Op] = true
	}
	for _, op := range slices.Sorted(maps.Keys(b.Kernels)) {
		if !claimed[op] {
			errs = append(errs, fmt.Errorf("its Kernels have a function for %v, which no row of its descriptor runs: add a row, or leave the function out", op))
		}
	}
	if d.Workers {
		errs = append(errs, errors.New("its descriptor has Workers: the program's threads run the kernels of the processor alone"))
	}
	return errors.Join(errs...)
}

// checkGeneration compares the generation of package runtime that the sources are written for with those of this one.
func checkGeneration(g int) error {
	switch {
	case g < runtime.MinVersion:
		return fmt.Errorf("it is written for generation %d of package runtime, and this ggmlc has %d: get a newer version of the backend", g, runtime.MaxVersion)
	case g > runtime.MaxVersion:
		return fmt.Errorf("it is written for generation %d of package runtime, and this ggmlc has %d: get a newer version of github.com/ggmlc/ggmlc", g, runtime.MaxVersion)
	}
	return nil
}
