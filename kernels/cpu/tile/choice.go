package tile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Choice is the tiles that the kernels of a feature use for a weight dtype: tiles with N rows of w for
// several rows of x, and with V rows for one. All choices give the same bits.
type Choice struct {
	Feature Feature
	Weight  dtype.DType
	N, V    int // rows of w
}

// Choices returns what can be chosen for weights of dtype w on a feature; nil where the table has
// no such tiles. The default, what the cost model takes, is the first.
func Choices(f Feature, w dtype.DType) []Choice {
	t := Find(f, w)
	if t == nil {
		return nil
	}
	var all []Choice
	for _, n := range t.N {
		for _, v := range t.V {
			all = append(all, Choice{f, w, n, v})
		}
	}
	taken := best(all)
	i := slices.Index(all, taken)
	return append([]Choice{taken}, slices.Delete(all, i, i+1)...)
}

// Find returns the table's entry for exactly that feature; nil if there is none.
func Find(f Feature, w dtype.DType) *Tile {
	i := slices.IndexFunc(Table, func(t Tile) bool { return t.Feature == f && t.Weight == w })
	if i < 0 {
		return nil
	}
	return &Table[i]
}

// String returns the form that ParseChoice reads: FEATURE:WEIGHT:N:V.
func (c Choice) String() string {
	return fmt.Sprintf("%s:%v:%d:%d", c.Feature, c.Weight, c.N, c.V)
}

// ParseChoice reads a choice and refuses what the table does not have.
func ParseChoice(text string) (Choice, error) {
	part := strings.Split(text, ":")
	if len(part) != 4 {
		return Choice{}, fmt.Errorf("%q is no choice of tiles: write FEATURE:WEIGHT:N:V, such as avx512:f16:32:64", text)
	}
	c := Choice{Feature: Feature(part[0])}
	var errs [3]error
	c.Weight, errs[0] = dtype.Parse(part[1])
	c.N, errs[1] = strconv.Atoi(part[2])
	c.V, errs[2] = strconv.Atoi(part[3])
	for _, err := range errs {
		if err != nil {
			return Choice{}, fmt.Errorf("%s: %w", text, err)
		}
	}
	all := Choices(c.Feature, c.Weight)
	switch {
	case all == nil:
		return Choice{}, fmt.Errorf("%s: there are none of %s for %v", text, c.Feature, c.Weight)
	case !slices.Contains(all, c):
		return Choice{}, fmt.Errorf("%s: there are %s", text, list(all))
	}
	return c, nil
}

func list(all []Choice) string {
	var names []string
	for _, c := range all {
		names = append(names, c.String())
	}
	return strings.Join(names, ", ")
}
