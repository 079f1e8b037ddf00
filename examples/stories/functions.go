package main

import "math"

// exp is e to the power x with a relative error below 2e-7. The standard
// library's takes different instructions on different processors; the training
// has to give the same bits on all of them.
//
// x = n·ln2 + r with |r| <= ln2/2, and e^r by its Taylor series to r^7, whose
// rest is below 1e-8.
func exp(x float32) float32 {
	const (
		log2e = 1.4426950408889634
		ln2   = 0.6931471805599453
	)
	switch {
	case x < -87:
		return 0 // below the smallest normal number
	case x > 88:
		return float32(math.Inf(1))
	}
	n := math.Floor(float64(x)*log2e + 0.5)
	r := float64(x) - n*ln2
	p := 1 + r*(1+r*(1./2+r*(1./6+r*(1./24+r*(1./120+r*(1./720+r*(1./5040)))))))
	return float32(p * math.Float64frombits(uint64(1023+int64(n))<<52))
}

func sigmoid(x float32) float32 { return 1 / (1 + exp(-x)) }

// ropeTable holds cosine and sine of each position's angle for each pair of a head.
type ropeTable struct {
	half     int
	cos, sin []float32 // positions by pairs
}

// newRopeTable makes the angles pos·base^(-2i/d) of rotary embeddings
// (Su et al., 2021) in the order of GGUF's llama: pair i is elements 2i and 2i+1.
func newRopeTable(c Config) ropeTable {
	half := c.headDim() / 2
	r := ropeTable{half, make([]float32, c.Context*half), make([]float32, c.Context*half)}
	for i := range half {
		freq := math.Pow(float64(c.RopeBase), -float64(i)/float64(half))
		for pos := range c.Context {
			sin, cos := math.Sincos(float64(pos) * freq)
			r.cos[pos*half+i], r.sin[pos*half+i] = float32(cos), float32(sin)
		}
	}
	return r
}

// rotate turns every pair of the n rows of x by its angle times direction,
// which is 1 or, for gradients, -1.
func (r ropeTable) rotate(x []float32, n, width int, direction float32) {
	for pos := range n {
		cos := r.cos[pos*r.half : (pos+1)*r.half]
		sin := r.sin[pos*r.half : (pos+1)*r.half]
		row := x[pos*width : (pos+1)*width]
		for ; len(row) > 0; row = row[2*r.half:] {
			for i := range r.half {
				a, b, s := row[2*i], row[2*i+1], sin[i]*direction
				row[2*i], row[2*i+1] = a*cos[i]-b*s, a*s+b*cos[i]
			}
		}
	}
}
