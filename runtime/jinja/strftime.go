package jinja

import (
	"fmt"
	"strings"
	"time"
)

// strftime prints a time as C's strftime does in the locale C.
func strftime(t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		bare := format[i] == '-' && i+1 < len(format)
		if bare {
			i++
		}
		s, ok := directive(t, format[i])
		switch {
		case !ok && bare:
			b.WriteString("%-" + format[i:i+1])
		case !ok:
			b.WriteString("%" + format[i:i+1])
		case bare && len(s) > 1:
			trimmed := strings.TrimLeft(s[:len(s)-1], "0 ")
			b.WriteString(trimmed + s[len(s)-1:])
		default:
			b.WriteString(s)
		}
	}
	return b.String()
}

// layouts are the directives that Go's layouts have, too.
var layouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'd': "02", 'e': "_2", 'm': "01", 'y': "06", 'Y': "2006", 'H': "15", 'I': "03",
	'M': "04", 'S': "05", 'p': "PM", 'j': "002", 'F': "2006-01-02", 'T': "15:04:05", 'R': "15:04", 'D': "01/02/06", 'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05", 'r': "03:04:05 PM",
}

// directive returns what a letter after a percent sign prints.
func directive(t time.Time, c byte) (string, bool) {
	if layout, ok := layouts[c]; ok {
		return t.Format(layout), true
	}
	switch c {
	case 'Z', 'z': // Python's datetime.now() has no zone
		return "", true
	case '%':
		return "%", true
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), true
	case 's':
		return fmt.Sprint(t.Unix()), true
	case 'w':
		return fmt.Sprint(int(t.Weekday())), true
	case 'u':
		return fmt.Sprint((int(t.Weekday())+6)%7 + 1), true
	case 'U':
		return fmt.Sprintf("%02d", (t.YearDay()+6-int(t.Weekday()))/7), true
	case 'W':
		return fmt.Sprintf("%02d", (t.YearDay()+6-(int(t.Weekday())+6)%7)/7), true
	case 'V':
		_, week := t.ISOWeek()
		return fmt.Sprintf("%02d", week), true
	case 'G':
		year, _ := t.ISOWeek()
		return fmt.Sprint(year), true
	}
	return "", false
}
