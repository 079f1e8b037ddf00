package pass

import (
	"fmt"
	"time"

	"github.com/ggmlc/ggmlc/ir"
)

// BytesText is ir.BytesText.
func BytesText(n int64) string { return ir.BytesText(n) }

// SecondsText returns a time with three digits and a unit.
func SecondsText(s float64) string {
	switch {
	case s == 0:
		return "an unknown time"
	case s < 1e-6:
		return fmt.Sprintf("%.3g ns", s*1e9)
	case s < 1e-3:
		return fmt.Sprintf("%.3g µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g s", s)
}

// Milliseconds returns a duration in milliseconds.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
