package assign

import "fmt"

// signed is a difference of times with its sign.
func signed(seconds float64) string {
	if seconds < 0 {
		return "-" + shortTime(-seconds)
	}
	return "+" + shortTime(seconds)
}

// shortTime is a time with three digits and a unit.
func shortTime(s float64) string {
	for _, u := range []struct {
		name  string
		scale float64
	}{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}} {
		if s >= u.scale {
			return fmt.Sprintf("%.3g%s", s/u.scale, u.name)
		}
	}
	return fmt.Sprintf("%.3gns", s/1e-9)
}

// shortSize is a number of bytes with three digits and a unit.
func shortSize(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.3gGiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.3gMiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.3gKiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%dB", n)
}
