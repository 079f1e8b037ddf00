//go:build !amd64

package gemm

const haveTile = false

func tile(int, *float32, int, int, *float32, *float32, int) {
	panic("gemm: no tile for this processor")
}
