package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// checkKernels returns a *WeightsError if an embedded file of kernels is not the one that was generated.
func (l *Layout) checkKernels() error {
	for i := range l.Kernels {
		f := &l.Kernels[i]
		sum := sha256.Sum256([]byte(f.Text))
		if got := hex.EncodeToString(sum[:]); got != f.SHA256 {
			return &WeightsError{File: f.Name, Why: fmt.Sprintf("its %d bytes, which this program embeds, have the SHA-256 %s, and %s was generated: generate the package again (go generate), and build again",
				len(f.Text), got, f.SHA256)}
		}
	}
	return nil
}
