package assign

import (
	"testing"

	"github.com/ggmlc/ggmlc/passes/placement"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestMoveTextHasNoNegativeBytes describes moves with fewer copies or fewer bytes.
func TestMoveTextHasNoNegativeBytes(t *testing.T) {
	p := &problem{machine: machine{backends: []*target.Descriptor{{Name: "gpu"}}}}
	for _, tt := range []struct {
		move placement.Move
		want string
	}{
		{placement.Move{Seconds: 1, Copies: 1, Bytes: 2048}, "gpu 1 s more, 1 copy of 2 KiB"},
		{placement.Move{Seconds: 1, Copies: 2, Bytes: 2048, Over: 1024}, "gpu 1 s more, 2 copies of 2 KiB, 1 KiB too much"},
		{placement.Move{Seconds: 1, Copies: 1, Bytes: -131072, Over: 1024}, "gpu 1 s more, 1 copy more, 128 KiB less, 1 KiB too much"},
		{placement.Move{Seconds: 1, Copies: 3, Bytes: -131072}, "gpu 1 s more, 3 copies more, 128 KiB less"},
		{placement.Move{Seconds: 1, Copies: -2, Bytes: -131072}, "gpu 1 s more, 2 copies less"},
	} {
		if got := p.moveText(tt.move); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.move, got, tt.want)
		}
	}
}
