package interp

import "math/bits"

// order draws the order of threads. It is SplitMix64 (Steele, Lea and Flood, Fast splittable pseudorandom number
// generators, 2014), which a launch calls at each turn of a thread: package math/rand took a fifth of all time.
type order struct{ state uint64 }

func (o *order) next() uint64 {
	o.state += 0x9e3779b97f4a7c15
	z := o.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number from 0 to n-1. Some are drawn more often than others, by a share of n/2^64.
func (o *order) below(n int) int {
	high, _ := bits.Mul64(o.next(), uint64(n))
	return int(high)
}

// permutation returns the numbers from 0 to n-1 in random order.
func (o *order) permutation(n int) []int {
	list := make([]int, n)
	for i := range list {
		j := o.below(i + 1)
		list[i] = list[j]
		list[j] = i
	}
	return list
}
