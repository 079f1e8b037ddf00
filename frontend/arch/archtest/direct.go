package archtest

import (
	"math"
	"slices"
)

// Computations of models whose results llama.cpp does not give: one number after the other in float64, from the
// definition of the architecture. They share no code with frontend/arch, the ops or their kernels.

// Results returns what Direct computes for each of Prompts.
func (m Model) Results() (all [][]float64) {
	for _, prompt := range Prompts() {
		if y := m.Direct(prompt); y != nil {
			all = append(all, y)
		}
	}
	return all
}

// Direct returns what a model makes of the tokens of a prompt: logits, an embedding, or scores; nil for most models
// whose results are those of llama.cpp.
func (m Model) Direct(prompt []int32) []float64 {
	if compute, ok := computations[m.Name]; ok {
		return compute(&direct{Model: m}, prompt)
	}
	return nil
}

// computations are those of models by name.
var computations = map[string]func(d *direct, prompt []int32) []float64{
	"bert-cls":   (*direct).bert, // also by llama.cpp
	"bert-rank":  (*direct).bert,
	"bert-class": (*direct).bert,
	"bert-dense": (*direct).bert,

	"baichuan-7b":  (*direct).baichuan,
	"baichuan-13b": (*direct).baichuan,
	"xverse":       (*direct).baichuan, // also by llama.cpp
	"refact":       (*direct).baichuan, // also by llama.cpp
	"grok-1":       (*direct).grok,
	"grok-2":       (*direct).grok,
}

// direct computes a model.
type direct struct{ Model }

// row is a vector.
type row = []float64

// tensor returns the elements of a tensor, or nil if there is none.
func (d *direct) tensor(name string) row {
	i := slices.IndexFunc(d.Tensors, func(t Tensor) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	x := make(row, len(d.Tensors[i].Data))
	for k, v := range d.Tensors[i].Data {
		x[k] = float64(v)
	}
	return x
}

// key returns an integer of the architecture.
func (d *direct) key(name string) int {
	for _, k := range d.Keys {
		if n, ok := k.Value.(uint32); ok && k.Name == d.Arch()+"."+name {
			return int(n)
		}
	}
	return 0
}

// lookUp returns row i of a matrix.
func (d *direct) lookUp(name string, i int32) row {
	return d.tensor(name)[int(i)*Width:][:Width]
}

// product returns the product of a matrix and x, plus the bias if there is one.
func (d *direct) product(name string, x row) row {
	y := multiply(d.tensor(name+".weight"), x)
	if b := d.tensor(name + ".bias"); b != nil {
		return plus(y, b)
	}
	return y
}

func multiply(matrix, x row) row {
	y := make(row, len(matrix)/len(x))
	for i := range y {
		for k, v := range x {
			y[i] += matrix[i*len(x)+k] * v
		}
	}
	return y
}

func plus(a, b row) row {
	y := make(row, len(a))
	for i := range a {
		y[i] = a[i] + b[i]
	}
	return y
}

func each(x row, f func(float64) float64) row {
	y := make(row, len(x))
	for i, v := range x {
		y[i] = f(v)
	}
	return y
}

// gelu is the approximation by tanh that ggml computes.
func gelu(x float64) float64 {
	return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

func silu(x float64) float64 { return x / (1 + math.Exp(-x)) }

// layerNorm returns x with mean 0 and variance 1, times the factors of a norm, plus its bias.
func (d *direct) layerNorm(name string, x row) row {
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	w, b, y := d.tensor(name+".weight"), d.tensor(name+".bias"), make(row, len(x))
	for i, v := range x {
		y[i] = (v-mean)/math.Sqrt(variance+float64(float32(1e-5)))*w[i] + b[i]
	}
	return y
}

// softmax returns the shares of scores, as the direct computation of a model defines it.
func softmax(z row) row {
	most, sum := slices.Max(z), 0.0
	y := each(z, func(v float64) float64 { return math.Exp(v - most) })
	for _, v := range y {
		sum += v
	}
	return each(y, func(v float64) float64 { return v / sum })
}

// attend returns for each token the results of all heads. It reads the first seen(i) tokens. score changes the product
// of a query of token i and a key of token j in head h.
func attend(q, k, v []row, size int, seen func(i int) int, score func(h, i, j int, z float64) float64) []row {
	y := make([]row, len(q))
	heads, kv := len(q[0])/size, len(k[0])/size
	for i := range q {
		for h := range heads {
			g := h / (heads / kv)
			var z row
			for j := range seen(i) {
				z = append(z, score(h, i, j, multiply(q[i][h*size:][:size], k[j][g*size:][:size])[0]))
			}
			sum := make(row, size)
			for j, share := range softmax(z) {
				sum = plus(sum, each(v[j][g*size:][:size], func(x float64) float64 { return share * x }))
			}
			y[i] = append(y[i], sum...)
		}
	}
	return y
}

// bert computes BERT with the state of the first token, or its classification head.
func (d *direct) bert(prompt []int32) []float64 {
	var x []row
	for i, id := range prompt {
		sum := plus(d.lookUp("token_embd.weight", id), d.lookUp("position_embd.weight", int32(i)))
		x = append(x, d.layerNorm("token_embd_norm", plus(sum, d.lookUp("token_types.weight", 0))))
	}
	all := func(int) int { return len(prompt) }
	for layer := range d.key("block_count") {
		at := layerPrefix(layer)
		var q, k, v []row
		for i := range x {
			q, k, v = append(q, d.product(at+"attn_q", x[i])), append(k, d.product(at+"attn_k", x[i])), append(v, d.product(at+"attn_v", x[i]))
		}
		y := attend(q, k, v, headSize, all, func(_, _, _ int, z float64) float64 { return z / math.Sqrt(headSize) })
		for i := range x {
			x[i] = d.layerNorm(at+"attn_output_norm", plus(x[i], d.product(at+"attn_output", y[i])))
			x[i] = d.layerNorm(at+"layer_output_norm", plus(x[i], d.product(at+"ffn_down", each(d.product(at+"ffn_up", x[i]), gelu))))
		}
	}
	return d.head(x[0])
}

// head returns the scores that a classification head, if there is one, gives to the first token.
func (d *direct) head(x row) row {
	if d.tensor("cls.weight") != nil {
		x = each(d.product("cls", x), math.Tanh)
	}
	if d.tensor("cls.output.weight") != nil {
		x = d.product("cls.output", x)
	}
	return x
}
