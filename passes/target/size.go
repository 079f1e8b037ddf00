package target

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseSize reads a number of bytes: a number, then nothing or B, or KiB, MiB, GiB or TiB for powers of 1024, or kB,
// MB, GB or TB for powers of 1000. The number may have a fraction. The result is rounded down to whole bytes. A size
// between 0 and 1 byte is an error.
func ParseSize(text string) (int64, error) {
	i := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	unit := ""
	digits := text
	if i >= 0 {
		digits, unit = text[:i], text[i:]
	}
	scale, ok := sizeUnits[unit]
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil || !ok || x*scale >= 1<<62 || x > 0 && x*scale < 1 {
		return 0, fmt.Errorf("%q is not a size: write a number and a unit, such as 512MiB or 8GB", text)
	}
	return int64(x * scale), nil
}

// sizeUnits are the bytes of each unit.
var sizeUnits = map[string]float64{
	"": 1, "B": 1,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
}
