package ir

import "fmt"

// RoundedBytes returns a number of bytes as people read it, such as " (1.5 MiB)": to stand behind
// the exact one. It is empty where the exact one is short.
func RoundedBytes(n int64) string {
	x, unit := float64(n), ""
	for _, larger := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if x < 1<<10 {
			break
		}
		x, unit = x/(1<<10), larger
	}
	if unit == "" {
		return ""
	}
	return fmt.Sprintf(" (%.4g %s)", x, unit)
}
