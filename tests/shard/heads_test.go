package shard

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/shard"
)

// headCases have what each device gets of the heads of a layer.
var headCases = []struct {
	model    string
	shares   []float64
	q, kv    []int64 // heads of each device
	numbered bool    // scores have biases that depend on the number of the head
}{
	{"llama-biases", []float64{1, 1}, []int64{2, 2}, []int64{1, 1}, false},
	{"llama-biases", []float64{1, 1, 1}, []int64{2, 1, 1}, []int64{1, 1, 1}, false},
	{"llama-biases", []float64{1, 1, 1, 1}, []int64{1, 1, 1, 1}, []int64{1, 1, 1, 1}, false},
	{"llama-biases", []float64{3, 0, 1}, []int64{2, 0, 2}, []int64{1, 0, 1}, false},
	{"starcoder", []float64{1, 1}, []int64{2, 2}, []int64{1, 1}, false},
	{"starcoder", []float64{3, 0, 1}, []int64{3, 0, 1}, []int64{1, 0, 1}, false},
	{"refact", []float64{1, 1}, []int64{2, 4}, []int64{1, 2}, true},
	{"refact", []float64{1, 1, 1, 1}, []int64{2, 2, 1, 1}, []int64{1, 1, 1, 1}, true},
	{"mpt", []float64{1, 1}, []int64{2, 2}, []int64{1, 1}, true},
	{"bloom", []float64{1, 1, 2}, []int64{1, 1, 2}, []int64{1, 1, 2}, true},
	{"deepseek2", []float64{1, 1}, []int64{2, 2}, []int64{1, 1}, false},
	{"deepseek2", []float64{3, 0, 1}, []int64{3, 0, 1}, []int64{1, 0, 1}, false},
	{"minicpm3", []float64{1, 3}, []int64{1, 3}, []int64{1, 3}, false},
}

// TestDevicesHaveTheHeadsThatTheyRead: each device has its heads of queries, with their biases, and the heads of keys
// and values that these read.
func TestDevicesHaveTheHeadsThatTheyRead(t *testing.T) {
	for _, tt := range headCases {
		t.Run(fmt.Sprint(tt.model, tt.shares), func(t *testing.T) {
			m := importModel(t, modelNamed(t, tt.model))
			spread, _, err := shard.Spread(m, len(tt.shares), givenStates(t, m, tt.shares))
			if err != nil {
				t.Fatal(err)
			}
			first, all := int64(0), int64(0)
			for _, n := range tt.q {
				all += n
			}
			for j := range tt.shares {
				n := attentionOf(spread, j)
				if n == nil && tt.q[j] == 0 {
					continue
				}
				if n == nil {
					t.Fatalf("device %d has no attention", j)
				}
				if q, kv := n.Args[0].Type.Shape[1], n.Args[1].Type.Shape[1]; !q.Is(tt.q[j]) || !kv.Is(tt.kv[j]) {
					t.Errorf("device %d has %v heads and %v of keys, want %d and %d", j, q, kv, tt.q[j], tt.kv[j])
				}
				if s := ir.ScoringOf(n); tt.numbered && (s.Head != first || s.Heads != all) {
					t.Errorf("the heads of device %d are those from %d on of %d, want %d of %d", j, s.Head, s.Heads, first, all)
				}
				first += tt.q[j]
			}
		})
	}
}

// modelNamed returns a model of archtest.
func modelNamed(t *testing.T, name string) archtest.Model {
	models := archtest.Models()
	i := slices.IndexFunc(models, func(m archtest.Model) bool { return m.Name == name })
	if i < 0 {
		t.Fatalf("archtest has no model %s", name)
	}
	return models[i]
}

// attentionOf returns the first attention of a device in a module that is written out; nil for none.
func attentionOf(m *ir.Module, device int) *ir.Node {
	for _, n := range m.Func("decode").Nodes {
		if n.Op == ir.OpAttention && deviceOf(n) == device {
			return n
		}
	}
	return nil
}

// deviceOf returns the device that a node's name ends in.
func deviceOf(n *ir.Node) int {
	var device int
	name := n.Result().Name()
	if _, err := fmt.Sscanf(name[max(0, slices.Index([]byte(name), '@')):], "@%d", &device); err != nil {
		return -1
	}
	return device
}
