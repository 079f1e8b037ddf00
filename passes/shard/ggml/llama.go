package ggml

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/shard/foreign"
)

// Kept is a weight or cache, with its extents in ggml's order.
type Kept struct {
	Key   string // by which the state is asked for
	Name  string // llama.cpp's, such as blk.0.attn_q.weight or cache_k_l0
	DType dtype.DType
	NE    [foreign.Dims]int64
	Head  int64 // of a cache: elements of a head
}

// Llama returns the states that llama.cpp gives weights and caches, by Key. It decides by names, and so divides what it
// has a rule for in any model: heads in groups that read one head of keys, the dimension within feed-forward layers,
// and rows of the output. Others are mirrored. The README next to the traces states the rules. Layer l is cut from
// device l on, and the output as one more layer, so that rounding is not always at the expense of the same ones.
func Llama(kept []Kept, shares []float64) (map[string]ir.Sharding, error) {
	l := &llama{shares: shares, by: make(map[string]*Kept)}
	for i, k := range kept {
		l.by[k.Name] = &kept[i]
		if m := inLayer.FindStringSubmatch(k.Name); m != nil {
			n, _ := strconv.Atoi(cmp.Or(m[1], m[4]))
			l.layers = max(l.layers, n+1)
		}
	}
	given := make(map[string]ir.Sharding)
	for _, k := range kept {
		s, err := l.state(&k)
		if err != nil {
			return nil, err
		}
		given[k.Key] = foreign.Flip(s)
	}
	return given, nil
}

// llama knows all weights and caches of a model.
type llama struct {
	shares []float64
	by     map[string]*Kept // by Name
	layers int
}

var inLayer = regexp.MustCompile(`^blk\.(\d+)\.(.+)$|^cache_([kv])_l(\d+)$`)

// llamaRules are the rules by names, without the number of the layer. The first that matches holds. Other names are
// mirrored.
var llamaRules = []struct {
	name *regexp.Regexp
	cut  func(k *Kept, at *layer) cut
}{
	{named(`attn_q\.(weight|bias)`), func(k *Kept, at *layer) cut { return rows(k, at.query()) }},
	{named(`attn_[kv]\.(weight|bias)`), func(k *Kept, at *layer) cut { return rows(k, at.key()) }},
	{named(`attn_qkv\.(weight|bias)`), func(k *Kept, at *layer) cut { return at.fused(k) }},
	{named(`attn_[qk]_norm\.weight`), func(k *Kept, _ *layer) cut { return norms(k) }},
	{named(`attn_sinks\.weight`), func(k *Kept, at *layer) cut { return along(k, 0, at.query()/max(at.head(), 1)) }},
	{named(`attn_output\.weight`), func(k *Kept, at *layer) cut { return along(k, 0, at.query()) }},
	{named(`cache_[kv]`), func(k *Kept, at *layer) cut { return along(k, 0, at.key()) }},
	{named(`ffn_(up|gate|gate_up)(_exps|_shexp)?\.(weight|bias)`), func(k *Kept, at *layer) cut { return at.inner(k) }},
	{named(`ffn_down(_exps|_shexp)?\.weight`), func(k *Kept, at *layer) cut { return along(k, 0, at.innerBlock(k)) }},
	{named(`ffn_down_exps\.bias`), func(*Kept, *layer) cut { return cut{partial: true} }},
	{named(`output\.(weight|bias)`), func(k *Kept, _ *layer) cut { return rows(k, 1) }},
}

func named(names string) *regexp.Regexp { return regexp.MustCompile("^" + names + "$") }

// cut is how a weight is cut: segments of an axis, each repeated, with the size of what stays together. Without
// segments it is mirrored.
type cut struct {
	axis                   int
	times, sizes, granules []int64
	partial                bool
}

// along cuts an axis of one segment.
func along(k *Kept, axis int, granule int64) cut {
	if granule == 0 {
		return cut{}
	}
	return cut{axis: axis, times: []int64{1}, sizes: []int64{k.NE[axis]}, granules: []int64{granule}}
}

// rows cuts the rows of a matrix, or the elements of a bias.
func rows(k *Kept, granule int64) cut { return along(k, rowAxis(k), granule) }

// rowAxis returns the axis of rows: 1, and 0 for biases.
func rowAxis(k *Kept) int {
	if len(k.Name) > 5 && k.Name[len(k.Name)-5:] == ".bias" {
		return 0
	}
	return 1
}

// norms cuts weights of norms that differ between heads.
func norms(k *Kept) cut {
	if k.NE[1] == 1 {
		return cut{}
	}
	return along(k, 1, 1)
}

// state returns the state of one, in ggml's order of axes.
func (l *llama) state(k *Kept) (ir.Sharding, error) {
	at, name, first := &layer{l: l}, k.Name, l.layers
	if m := inLayer.FindStringSubmatch(k.Name); m != nil {
		at.number = cmp.Or(m[1], m[4])
		first, _ = strconv.Atoi(at.number)
		name = m[2]
		if m[3] != "" {
			name = "cache_" + m[3]
		}
	}
	for _, r := range llamaRules {
		if !r.name.MatchString(name) || slices.Contains(k.NE[:], 0) {
			continue
		}
		switch c := r.cut(k, at); {
		case c.partial:
			return ir.Partial(), nil
		case len(c.sizes) > 0:
			return CutSegments(c.axis, c.times, c.sizes, c.granules, l.shares, first%len(l.shares))
		}
		break
	}
	return ir.Mirrored(), nil
}

// layer is the layer of a weight.
type layer struct {
	l      *llama
	number string
}

func (at *layer) get(name string) *Kept { return at.l.by["blk."+at.number+"."+name] }

func (at *layer) cache(kv string) *Kept { return at.l.by["cache_"+kv+"_l"+at.number] }

// head returns the elements of a head of keys; 0 if the layer has no cache.
func (at *layer) head() int64 {
	if c := at.cache("k"); c != nil {
		return c.Head
	}
	return 0
}

// queries returns the elements of all queries of a token.
func (at *layer) queries() int64 {
	keys, values := at.cache("k"), at.cache("v")
	switch q, fused := at.get("attn_q.weight"), at.get("attn_qkv.weight"); {
	case keys == nil || values == nil:
	case q != nil:
		return q.NE[1]
	case fused != nil:
		return fused.NE[1] - keys.NE[0] - values.NE[0]
	}
	return 0
}

// query returns how many elements of queries stay together: the heads that read one head of keys, and blocks of the
// weight after them. It is 0 if that is not known.
func (at *layer) query() int64 {
	q, keys := at.queries(), at.cache("k")
	if q <= 0 || keys.NE[0] == 0 || q%(keys.NE[0]/keys.Head) != 0 {
		return 0
	}
	block := int64(1)
	if out := at.get("attn_output.weight"); out != nil {
		block = int64(out.DType.BlockElems())
	}
	return lcm(q/(keys.NE[0]/keys.Head), block)
}

// key returns the same of keys and values.
func (at *layer) key() int64 {
	if at.query() == 0 {
		return 0
	}
	return at.query() * at.cache("k").NE[0] / at.queries()
}

// fused cuts queries, keys and values separately.
func (at *layer) fused(k *Kept) cut {
	if at.query() == 0 {
		return cut{}
	}
	return cut{axis: rowAxis(k), times: []int64{1, 2}, sizes: []int64{at.queries(), at.cache("k").NE[0]}, granules: []int64{at.query(), at.key()}}
}

// ffnBlock is the smallest piece of a feed-forward layer.
const ffnBlock = 32

var ffnKind = regexp.MustCompile(`_(exps|shexp)\.`)

// down returns the weight after those of a feed-forward layer.
func (at *layer) down(k *Kept) *Kept {
	return at.get("ffn_down" + ffnSuffix(k) + ".weight")
}

func ffnSuffix(k *Kept) string {
	if m := ffnKind.FindStringSubmatch(k.Name); m != nil {
		return "_" + m[1]
	}
	return ""
}

// innerBlock returns how many elements within a feed-forward layer stay together.
func (at *layer) innerBlock(k *Kept) int64 {
	if d := at.down(k); d != nil {
		return lcm(int64(d.DType.BlockElems()), ffnBlock)
	}
	return 0
}

// inner cuts the rows of the weights before the activation. There are two segments if one weight has the gates too.
func (at *layer) inner(k *Kept) cut {
	c := rows(k, at.innerBlock(k))
	if d := at.down(k); d != nil && k.NE[c.axis] == 2*d.NE[0] {
		c.times[0], c.sizes[0] = 2, d.NE[0]
	}
	return c
}

func lcm(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}
