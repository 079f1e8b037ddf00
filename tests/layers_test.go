// Package tests holds tests of the whole repository.
package tests

import (
	"os/exec"
	"path"
	"strings"
	"testing"
)

const module = "github.com/ggmlc/ggmlc"

// layers lists which packages may import which others: the lines "a < b" of STYLE.md, for direct imports of non-test
// files. A pattern that ends in /... covers a folder. A package without a line is an error, so that new packages are
// added here.
var layers = []struct {
	pkg   string
	may   []string // packages of this module
	other []string // modules besides the standard library
}{
	{".", nil, nil},
	{"ir/dtype", nil, nil},
	{"ir", []string{"ir/dtype"}, nil},
	{"ir/spell", nil, nil},
	{"ir/gen", []string{"ir"}, nil},
	{"ir/eval", []string{"ir", "ir/dtype"}, nil},
	{"ir/irtest", []string{"ir", "ir/dtype", "ir/eval"}, []string{"golang.org/x/tools", "github.com/google/go-cmp"}},
	{"passes/mem", nil, nil},
	{"passes/placement", nil, nil},
	{"kernels/cpu/tile", []string{"ir/dtype"}, nil},
	{"kernels/cpu", []string{"ir/dtype", "kernels/cpu/tile"}, nil},
