package shard

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/shard/ggml"
)

// odd are the cases of transformer layers whose given states are not llama.cpp's: it is their point.
var odd = []string{"plainsplit", "kvwhole", "alibiwhole", "fusedwhole", "upwhole", "loosegqa", "wholeattn", "flashwhole", "normmqa", "cachecopied"}

// TestStatesAreLlamaCpps derives the states that the transformer layers of the traces are given from names and extents.
func TestStatesAreLlamaCpps(t *testing.T) {
	checked := 0
	for _, path := range traces(t) {
		cases, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			if !strings.HasPrefix(c.Name, "block-") || slices.ContainsFunc(odd, func(s string) bool { return strings.Contains(c.Name, s) }) {
				continue
			}
			checked += statesAreLlamaCpps(t, c)
		}
	}
	if t.Logf("%d states", checked); checked < 2000 {
		t.Errorf("only %d states are compared", checked)
	}
}

// statesAreLlamaCpps returns how many states of a case it has compared. Where the case cuts all layers from the first
// device on, these are of the first layer.
func statesAreLlamaCpps(t *testing.T, c *Case) (checked int) {
	kept, rotated := keptOf(t, c)
	given, err := ggml.Llama(kept, c.Shares)
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range kept {
		if !rotated && (layerOf(k.Name) > 0 || strings.HasPrefix(k.Name, "output.")) {
			continue
		}
		checked++
		if got, want := given[k.Key], c.Tensors[i].Given.sharding(); !got.Equal(want) {
			t.Errorf("%s: %s %v: %v, want %v", c.Name, k.Name, k.NE, got, want)
		}
	}
	return checked
}

var layerNumber = regexp.MustCompile(`^blk\.(\d+)\.|_l(\d+)$`)

// layerOf returns the number of the layer that a name belongs to.
func layerOf(name string) int {
	m := layerNumber.FindStringSubmatch(name)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1] + m[2])
	return n
}

// keptOf returns the weights and caches of a case, and whether layers are cut from different devices on.
func keptOf(t *testing.T, c *Case) (kept []ggml.Kept, rotated bool) {
	var heads []int64 // elements, by layer
	for _, n := range c.Nodes {
		if x := &c.Tensors[n]; x.Op == "FLASH_ATTN_EXT" {
			heads = append(heads, c.Tensors[*x.Src[1]].NE[0])
		}
	}
	for _, x := range c.Tensors {
		if x.Kept == "" {
			break
		}
		d, err := dtype.Parse(strings.ToLower(x.Type))
		if err != nil {
			t.Fatal(err)
		}
		k := ggml.Kept{Key: x.Name, Name: x.Name, DType: d, NE: x.NE}
		if l := layerOf(x.Name); l < len(heads) {
			k.Head = heads[l]
		}
		rotated = rotated || x.Cut != nil && x.Cut.Rotation > 0
		kept = append(kept, k)
	}
	return kept, rotated
}
