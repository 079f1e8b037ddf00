//go:build unix

package jinja

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestLongTemplates parses templates of 256 KB. None takes time or memory that grows with the square of its length.
func TestLongTemplates(t *testing.T) {
	for _, part := range [][3]string{
		{"{{ [", "0x1,", "] }}"}, {"{{ ", "'a'", " }}"}, {"{{ 'a' | upper", ".a", " }}"}, {"{{ 'a'", " | upper", " }}"}, {"", "{{ 1 }}", ""}, {"", "{# a #}", ""}, {"", "  {%- if a %}x\n{% endif %}", ""}, {"{% raw %}", " {% raw %}", "{% endraw %}"}, {"{{ a", ".a", " }}"}, {"{{ a", "()", " }}"},
		{"{{ [", "1_0.5e+1,", "] }}"}, {"{{ [", "'\\n'\"\\x41\",", "] }}"}, {"{{ {", "1:2,", "} }}"}, {"{% if a %}", "{% elif a %}", "{% endif %}"}, {"{% macro m(", "a,", "b) %}{% endmacro %}"}, {"{{ f(", "a=1,", ") }}"}, {"{{ 1", "+1", " }}"}, {"{{ 1", "~1", " }}"}, {"{{ 1", "<1", " }}"}, {"{{ a", " ", "}}"}, {"{{ ", "a", " }}"}, {"{% set ", "a,", "b = 1 %}"},
		{"{{ [", "1000", "] }}"}, {"{{ 0.", "1", " }}"}, {"{{ 1", "0", " }}"}, {"{{ '", "a", "' }}"}, {"", "{", ""}, {"", " \n", "{%- if a %}"}, {"{{ a", "[0]", " }}"}, {"{{ a", " is none", " }}"},
		{strings.Repeat("{% macro m() %}", 190) + "{{ [", "caller,", "] }}" + strings.Repeat("{% endmacro %}", 190)},
	} {
		text := part[0] + strings.Repeat(part[1], (MaxText/4-len(part[0])-len(part[2]))/len(part[1])) + part[2]
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := cpuTime(t)
		_, err := Parse(text)
		d := cpuTime(t) - start
		runtime.ReadMemStats(&after)
		if size := (after.TotalAlloc - before.TotalAlloc) >> 20; d > time.Second || size > 100 {
			t.Errorf("%.30s%s%.30s takes %v and %d MB: %v", part[0], part[1], part[2], d, size, err)
		}
	}
}
