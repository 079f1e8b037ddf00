package ir

import "fmt"

// BytesText returns a number of bytes in three digits (four from 1000 on) and the largest unit that is not larger: 5
// MiB, 1.58 MiB, 1023 KiB.
func BytesText(n int64) string {
	bytes, unit := ByteUnit(n)
	return InByteUnit(n, bytes) + " " + unit
}

// RoundedBytes returns a number of bytes for people, such as " (1.58 MiB)", to follow the exact number
// in a message. It is empty if the exact number is short.
func RoundedBytes(n int64) string {
	if n < 1<<10 {
		return ""
	}
	return " (" + BytesText(n) + ")"
}

// ByteUnit returns the largest unit that is not larger than n bytes, at least 1 byte, and its name.
func ByteUnit(n int64) (bytes int64, name string) {
	bytes, name = 1, "B"
	for _, larger := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if n < bytes<<10 {
			break
		}
		bytes, name = bytes<<10, larger
	}
	return bytes, name
}

// InByteUnit returns n bytes in a unit of a number of bytes, in three digits.
func InByteUnit(n, unit int64) string {
	if x := float64(n) / float64(unit); x > -999.5 && x < 999.5 {
		return fmt.Sprintf("%.3g", x)
	}
	return fmt.Sprint(n / unit)
}
