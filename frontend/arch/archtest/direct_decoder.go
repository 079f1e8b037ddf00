package archtest

import (
	"math"
	"slices"
)

// number returns a float of the architecture, or a default.
func (d *direct) number(name string, def float64) float64 {
	for _, k := range d.Keys {
		if x, ok := k.Value.(float32); ok && k.Name == d.Arch()+"."+name {
			return float64(x)
		}
	}
	return def
}

// rmsNorm returns x with mean square 1, times the factors of a norm.
func (d *direct) rmsNorm(name string, x row) row {
	square := 0.0
	for _, v := range x {
		square += v * v / float64(len(x))
	}
	w, y := d.tensor(name+".weight"), make(row, len(x))
	for i, v := range x {
		y[i] = v / math.Sqrt(square+float64(float32(1e-5))) * w[i]
	}
	return y
}

// turned returns x with the pairs of each head rotated. Pair i of a head is its elements i and i+distance, or 2i and
// 2i+1 if distance is 1.
func turned(x row, pos, distance int) row {
	y := slices.Clone(x)
	for head := 0; head < len(x); head += headSize {
		for i := range headSize / 2 {
			a, b := head+i, head+i+distance
			if distance == 1 {
				a, b = head+2*i, head+2*i+1
			}
			sin, cos := math.Sincos(float64(pos) * math.Pow(10000, -2*float64(i)/headSize))
			y[a], y[b] = x[a]*cos-x[b]*sin, x[a]*sin+x[b]*cos
		}
	}
	return y
}

// slope returns the factor of distances in head h, for 8 as the exponent: the powers of one number for the largest
// power of two of heads, and for others those between.
func slope(h, heads int) float64 {
	whole := 1
	for 2*whole <= heads {
		whole *= 2
	}
	if h < whole {
		return math.Pow(2, -8*float64(h+1)/float64(whole))
	}
	return math.Pow(2, -4*float64(2*(h-whole)+1)/float64(whole))
}

// expert returns the product of matrix i of several and x.
func (d *direct) expert(name string, i, rows int, x row) row {
	return multiply(d.tensor(name + ".weight")[i*rows*len(x):][:rows*len(x)], x)
}

func scaled(x row, by float64) row { return each(x, func(v float64) float64 { return v * by }) }

func times(a, b row) row {
	y := make(row, len(a))
	for i := range a {
		y[i] = a[i] * b[i]
	}
	return y
}

// baichuan computes Baichuan: with rotations of neighbours, or with a bias by distance. XVERSE is the one, and Refact
// the other.
func (d *direct) baichuan(prompt []int32) []float64 {
	heads, bias := d.key("attention.head_count"), d.number("attention.max_alibi_bias", 0)
	if d.Arch() == "refact" {
		bias = 8
	}
	var x []row
	for _, id := range prompt {
		x = append(x, d.lookUp("token_embd.weight", id))
	}
	for layer := range d.key("block_count") {
		at := layerPrefix(layer)
		var q, k, v []row
		for i := range x {
			in := d.rmsNorm(at+"attn_norm", x[i])
			q, k, v = append(q, d.product(at+"attn_q", in)), append(k, d.product(at+"attn_k", in)), append(v, d.product(at+"attn_v", in))
			if bias == 0 {
				q[i], k[i] = turned(q[i], i, 1), turned(k[i], i, 1)
			}
		}
		y := attend(q, k, v, headSize, func(i int) int { return i + 1 }, func(h, i, j int, z float64) float64 {
			z /= math.Sqrt(headSize)
			if bias > 0 {
				z -= slope(h, heads) * float64(i-j)
			}
			return z
		})
		for i := range x {
			x[i] = plus(x[i], d.product(at+"attn_output", y[i]))
			in := d.rmsNorm(at+"ffn_norm", x[i])
			x[i] = plus(x[i], d.product(at+"ffn_down", times(each(d.product(at+"ffn_gate", in), silu), d.product(at+"ffn_up", in))))
		}
	}
	return d.product("output", d.rmsNorm("output_norm", x[len(x)-1]))
}

// grok computes Grok 1, or Grok 2 if there is a dense part.
func (d *direct) grok(prompt []int32) []float64 {
	most, after := d.number("attn_logit_softcapping", 30), "layer_output_norm"
	if d.tensor("blk.0.post_ffw_norm.weight") != nil {
		after = "post_ffw_norm"
	}
	var x []row
	for _, id := range prompt {
		x = append(x, scaled(d.lookUp("token_embd.weight", id), d.number("embedding_scale", 78.38367176906169)))
	}
	for layer := range d.key("block_count") {
		at := layerPrefix(layer)
		var q, k, v []row
		for i := range x {
			in := d.rmsNorm(at+"attn_norm", x[i])
			q, k = append(q, turned(d.product(at+"attn_q", in), i, headSize/2)), append(k, turned(d.product(at+"attn_k", in), i, headSize/2))
			v = append(v, d.product(at+"attn_v", in))
		}
		y := attend(q, k, v, headSize, func(i int) int { return i + 1 }, func(_, _, _ int, z float64) float64 {
			return most * math.Tanh(z*d.number("attention.output_scale", 0.08838834764831845)/most)
		})
		for i := range x {
			x[i] = plus(x[i], d.rmsNorm(at+"attn_output_norm", d.product(at+"attn_output", y[i])))
			x[i] = plus(x[i], d.rmsNorm(at+after, d.grokExperts(at, d.rmsNorm(at+"ffn_norm", x[i]))))
		}
	}
	matrix := d.tensor("output.weight")
	if matrix == nil {
		matrix = d.tensor("token_embd.weight")
	}
	y := scaled(multiply(matrix, d.rmsNorm("output_norm", x[len(x)-1])), d.number("logit_scale", 0.5773502691896257))
	if most := d.number("final_logit_softcapping", 0); most > 0 {
		y = each(y, func(v float64) float64 { return most * math.Tanh(v/most) })
	}
	return y
}

// grokExperts computes the two best experts, and the dense part if there is one.
func (d *direct) grokExperts(at string, x row) row {
	shares, sum, y := softmax(d.product(at+"ffn_gate_inp", x)), 0.0, make(row, Width)
	order := []int{0, 1, 2, 3}
	slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, shares[b]-shares[a])) })
	for _, e := range order[:expertsUsed] {
		sum += shares[e]
	}
	for _, e := range order[:expertsUsed] {
		h := times(each(d.expert(at+"ffn_gate_exps", e, inner, x), gelu), d.expert(at+"ffn_up_exps", e, inner, x))
		y = plus(y, scaled(d.expert(at+"ffn_down_exps", e, Width, h), shares[e]/sum))
	}
	if d.tensor(at+"ffn_up.weight") == nil {
		return y
	}
	h := times(each(d.product(at+"ffn_gate", x), gelu), d.product(at+"ffn_up", x))
	return scaled(plus(y, d.product(at+"ffn_down", h)), math.Sqrt(0.5))
}
