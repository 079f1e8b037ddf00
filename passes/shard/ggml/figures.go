package ggml

import (
	"errors"
	"math/bits"

	"github.com/ggmlc/ggmlc/passes/shard/foreign"
)

// ReduceBytes returns the bytes of the values that are added up, each once.
func (d *Division) ReduceBytes() int64 {
	n := int64(0)
	for _, v := range d.Reduce {
		n += d.at(v).Bytes
	}
	return n
}

// Exchange is what the devices send each other to add up without a communication library.
type Exchange struct {
	Messages int64
	Bytes    int64 // of all messages
	Scratch  int64 // bytes that each device needs to receive them
}

// errStrided is the error that ggml cannot send a value which has gaps.
var errStrided = errors.New("a value that is added up is not contiguous")

// Exchange returns what ggml sends in its own all-reduce. With P the largest power of two that is not above the number
// of devices, the devices above P send their summands to others, then all P swap theirs with a partner in log2(P)
// steps, then the sums go back.
func (d *Division) Exchange() (Exchange, error) {
	n := int64(d.Devices)
	var e Exchange
	for _, v := range d.Reduce {
		t := d.at(v)
		if !t.Contiguous() {
			return Exchange{}, errStrided
		}
		messages, bytes := Exchanged(n, t.Bytes)
		e.Messages += messages
		e.Bytes += bytes
	}
	largest := int64(0)
	for _, t := range d.late {
		largest = max(largest, t.Bytes)
	}
	e.Scratch = int64(bits.Len64(uint64(n-1))) * largest
	return e, nil
}

// Exchanged returns the messages and bytes of one sum.
func Exchanged(devices, bytes int64) (messages, sent int64) {
	steps := int64(bits.Len64(uint64(devices)) - 1)
	p := int64(1) << steps
	each := 2*(devices-p) + p*steps
	return each, each * bytes
}

// keptAlign is the alignment of parts of weights and states, in bytes.
const keptAlign = 128

// KeptBytes returns the bytes that each device needs for its parts of weights and states.
func (d *Division) KeptBytes() []int64 {
	bytes := make([]int64, d.Devices)
	for _, t := range d.tensors {
		if !t.Kept {
			continue
		}
		for j := range bytes {
			p := t.part(j)
			bytes[j] += (foreign.Extent(t.DType, p.NE, p.NB) + keptAlign - 1) / keptAlign * keptAlign
		}
	}
	return bytes
}
