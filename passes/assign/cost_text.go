package assign

import (
	"strings"

	"github.com/ggmlc/ggmlc/passes/pass"
)

// Causes are part of the text form, which is ASCII. Times and sizes in them have the units of [pass.SecondsText] and
// [pass.BytesText], but for the micro sign.

// signed is a difference of times: "1.2 ms more".
func signed(seconds float64) string {
	switch {
	case seconds == 0:
		return "no difference"
	case seconds < 0:
		return shortTime(-seconds) + " less"
	}
	return shortTime(seconds) + " more"
}

// shortTime is a time with three digits and a unit, in ASCII.
func shortTime(s float64) string {
	if s == 0 {
		return "0 s"
	}
	return strings.Replace(pass.SecondsText(s), "µs", "us", 1)
}
