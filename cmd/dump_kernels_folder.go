package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// kernelsIndex is the name of the table in the folder of dump --kernels -o, and kernelsHead its first line.
const (
	kernelsIndex = "index.tsv"
	kernelsHead  = "name\tkind\tworkgroups\tthreads\tshared\tcomputes\tnodes\n"
)

// writeKernels writes a file for each form of each kernel, and a table of the kernels. The table comes first, so that a
// later run finds the files of one that was interrupted.
func (f *dumpFlags) writeKernels(list []*codegen.Kernel) error {
	if err := os.MkdirAll(f.out, 0o777); err != nil {
		return err
	}
	if err := removeKernels(f.out); err != nil {
		return err
	}
	table := []byte(kernelsHead)
	for _, k := range list {
		for i, d := range k.Dispatches {
			table = fmt.Appendf(table, "%s\t%s\t%d\t%d\t%d\t%s\t%s\n", kernelName(k, i), k.Kind, k.Groups, d.Kernel.Threads, d.Kernel.SharedBytes(), k.Computes, strings.Join(origins(k), "; "))
		}
	}
	if err := codegen.WriteFile(filepath.Join(f.out, kernelsIndex), table); err != nil {
		return err
	}
	for _, k := range list {
		for i, d := range k.Dispatches {
			if err := f.writeForms(kernelName(k, i), d.Kernel); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeForms writes the files of a kernel. A form that it does not have has none.
func (f *dumpFlags) writeForms(name string, k *kir.Kernel) error {
	for _, form := range f.chosenForms() {
		for _, file := range form.files {
			data, err := file.print(name, k)
			if err != nil {
				continue
			}
			if err := codegen.WriteFile(filepath.Join(f.out, name+"."+file.extension), data); err != nil {
				return err
			}
		}
	}
	return nil
}

// dumpedKernel matches the names that kernels have: those of variables in programs.
var dumpedKernel = regexp.MustCompile(`^kernel[A-Za-z0-9_]+$`)

// removeKernels removes the files of the kernels that the table of a folder lists, which an earlier dump wrote. It
// leaves all other files. A folder with another table is refused.
func removeKernels(dir string) error {
	path := filepath.Join(dir, kernelsIndex)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	rows, ok := strings.CutPrefix(string(text), kernelsHead)
	if !ok {
		return usagef("-o %s: its %s is not one of dump --kernels: choose another folder", dir, kernelsIndex)
	}
	for row := range strings.Lines(rows) {
		if name, _, _ := strings.Cut(row, "\t"); dumpedKernel.MatchString(name) {
			if err := removeForms(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeForms removes the files of a kernel in all forms.
func removeForms(path string) error {
	for _, form := range kernelForms() {
		for _, file := range form.files {
			if err := os.Remove(path + "." + file.extension); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
