package ir

import "fmt"

// RoundedBytes returns a number of bytes for people, such as " (1.5 MiB)", to follow the exact number
// in a message. It is empty if the exact number is short.
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
