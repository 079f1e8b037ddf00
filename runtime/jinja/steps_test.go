//go:build unix

package jinja

import (
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slow are operations whose work grows with their operands. In each s is a text of 1 MB, u one of 1 MB in letters of
// two bytes, p one of 50 KB that s contains, q one of 1 MB that ends with the letter of bs, l a list of 100,000
// numbers, t a tuple of them, k a tuple of texts, d a dictionary with a long key, and b one with many keys.
var slow = []string{
	// Filters.
	"s | capitalize", "s | center", "u | center", "'a' | center(100000)", "s | count", "u | length", "s | e", "html | e", "('9' * 1000000) | float", "s | float", "('_' * 1000) | float ~ s | float", "digits | int", "s | int", "('_' ~ s) | int", "s | int(0, 16)", "blanks | int", "s | format",
	"s | indent", "lines | indent", "s | lower", "u | lower", "s | replace('b', 'c')", "s | replace('a', '')", "s | replace(p, '')", "s | title", "u | title", "('a ' * 500000) | title", "('a ' * 500000).title()", "u.swapcase() | e", "s | tojson", "[s] | tojson", "d | tojson", "b | tojson(sort_keys=true)", "l | tojson", "s | trim", "blanks | trim", "s | trim('xyz')", "s | trim(s)", "'b' | trim(u)", "s | truncate", "s | truncate(999990, true, '', 0)", "u | truncate(9999999, end=u)", "s | upper", "u | upper", "s | urlencode", "u | urlencode", "s | wordcount", "u | wordcount", "s | string | attr(s)", "[] | attr(s)",
	"l | batch(3) | list", "s | batch(1000) | list", "b | dictsort", "d | dictsort", "{s ~ 'A': 1, s ~ 'B': 2} | dictsort", "l | first", "s | first", "s | last", "[t, t, t] | groupby(1)", "[{'A': s}, {'A': s}] | groupby('A')", "[{}] | groupby(dots, default=1)", "b | items | list", "l | join(',')", "s | join", "[s, s] | join(s)", "s | list", "l | map('string') | list", "[1] | map(attribute=dots, default=1) | list", "[1] | map(attribute=s, default=1) | list", "(['%(k0)s'] * 100) | map('format', **b) | list", "l | max", "[big, big] | max", "l | reject('odd') | list", "l | selectattr(0) | list", "s | reverse", "u | reverse", "l | slice(3) | list", "l | sort", "[big, big] | sort", "[{}, {}] | sort(attribute='a,' * 100000)", "l | sum", "l | unique | list", "[big, big] | unique | list", "[k, k] | unique | list", "[t, t] | unique | list",
	// Tests.
	"s is lower", "s is upper", "u is lower", "s is eq(s ~ '')", "s is sameas(s2)", "s is in s2", "'ab' is in s", "s is lt(s2)", "(s ~ '%s') is divisibleby 2", "(s | attr(s)) is defined", "d[s2] is defined", "{}[s] is defined", "s[s] is defined", "{}[k] is defined", "{}[t] is defined",
	// Operators.
	"s == s2", "s < s2", "s != s2", "l == l2", "t == t2", "[k] == [k2]", "d == d2", "{t: 1} == {t2: 1}", "b == b2", "l < l2", "'ab' in s", "p ~ 'b' in s", "'b' ~ p in s", "-1 in l", "s2 in [s]", "s2 in d", "t2 in {t: 1}", "k in {}", "s[500000]", "u[400000]", "u[-1]", "s[1:]", "u[1:]", "s[::-1]", "u[::7]", "l[1:]", "l[::-1]", "s + s", "s ~ s", "l + l", "s * 2", "l * 2", "s % ()", "'%s' % s", "'%r' % s", "'%(a)s' % {'a': s}", "('%' ~ blanks ~ 'd') % 1", "'%s' % (l,)", "[s] ~ ''", "l ~ ''", "b ~ ''", "(s | e) + html", "html + (s | e)", "(s | safe) % ()", "('%s' | safe) % s", "(s | safe)[1:]", "('' | safe).join([s, s])", "(s | safe).upper()", "(s | safe).replace(s, s)", "{s: 1}", "{t: 1}", "{k: 1}", "-(u | length)",
	// Methods.
	"s.capitalize()", "s.casefold()", "s.center(9)", "u.center(9)", "s.count('b')", "s.count('aa')", "u.count('é', 1, 400000)", "s.endswith(s2)", "s.endswith(many)", "s.startswith(many)", "s.startswith(s2)", "u.startswith('x', 400000)", "s.find('b')", "s.find(p ~ 'b')", "s.rfind('b' ~ p)", "u.find('x')", "s.index(p)", "s.format()", "('{}' * 100000).format(*l)", "('{k99999}' * 1000).format(**b)", "s.isalnum()", "s.isalpha()", "s.isascii()", "digits.isdecimal()", "digits.isdigit()", "digits.isnumeric()", "u.isalpha()", "s.islower()", "blanks.isspace()", "s.isupper()", "s.join(['', ''])", "','.join(l | map('string'))", "u.ljust(9)", "u.rjust(9)", "u.zfill(9)", "s.lower()", "s.lstrip()", "blanks.lstrip()", "blanks.rstrip()", "s.strip(s)", "'b'.strip(u)", "bs.strip(q)", "s.partition('b')", "s.rpartition('b')", "s.removeprefix(s2)", "s.removesuffix(s2)", "s.replace('a', '')", "lines.split()", "lines.split('\\n')", "s.split('b')", "s.rsplit('b')", "('a ' * 500000).rsplit()", "lines.splitlines()", "s.swapcase()", "u.swapcase()", "s.title()", "u.title()", "s.upper()", "u.upper()", "b.items()", "b.keys() | list", "b.values() | list", "d.get(s2)", "{}.get(t)", "l.count(-1)", "l.index(99999)", "k.count(s)",
	// Functions.
	"range(100000)", "dict(b)", "dict([[s, 1]])", "dict(**b)", "dict(**d)", "namespace(**b)", "namespace(d)", "m(**b)", "m(*l)", "cycler(*l)", "strftime_now('%u' * 100000)", "strftime_now(s)", "c(**d)",
}

// TestWorkIsCounted runs operations on long operands again and again, with a twentieth of the limits. Each
// ends at one of them in little time: none does work that it counts no steps for.
func TestWorkIsCounted(t *testing.T) {
	texts := func(c string, n int) string { return strings.Repeat(c, n) }
	numbers := func() (list []any) {
		for i := range 100000 {
			list = append(list, int64(i))
		}
		return list
	}
	many := func() *Dict {
		d := NewDict()
		for i := range 100000 {
			d.Set("k"+text(int64(i)), int64(i))
		}
		return d
	}
	vars := NewDict("s", texts("a", 1e6), "s2", texts("a", 1e6), "u", texts("é", 5e5), "p", texts("a", 5e4), "q", texts("a", 1e6)+"b", "bs", texts("b", 5e4), "digits", texts("1", 1e6), "blanks", texts(" ", 1e6), "lines", texts("\n", 1e6),
		"html", texts("<", 2e5), "dots", texts("a.", 1e5), "big", texts("A", 1e6), "many", tuple(slices.Repeat([]any{texts("a", 1e6)}, 100)),
		"l", numbers(), "l2", numbers(), "t", tuple(numbers()), "t2", tuple(numbers()), "k", tuple{texts("a", 1e6), "b"}, "k2", tuple{texts("a", 1e6), "b"},
		"d", NewDict(texts("a", 1e6), int64(1)), "d2", NewDict(texts("a", 1e6), int64(1)), "b", many(), "b2", many())
	const macros = "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{% macro c(a) %}{{ kwargs }}{% endmacro %}"
	for _, op := range slow {
		tmpl, err := Parse(macros + "{% for i in range(100000) %}{% if " + op + " %}{% endif %}{% endfor %}")
		if err != nil {
			t.Fatalf("%s: %v", op, err)
		}
		start := cpuTime(t)
		done := make(chan error, 1)
		go func() {
			_, err := tmpl.Render(vars, Options{Now: time.Unix(0, 0), Limits: Limits{Steps: 400_000, Memory: 16 << 20}})
			done <- err
		}()
		for waiting := true; waiting; {
			select {
			case err = <-done:
				waiting = false
			case <-time.After(10 * time.Millisecond):
				if d := cpuTime(t) - start; d > 1500*time.Millisecond {
					t.Fatalf("%s: takes more than %v", op, d)
				}
			}
		}
		if err == nil || !strings.Contains(err.Error(), "the template takes more than") && !strings.Contains(err.Error(), "the template makes more than") {
			t.Errorf("%s: %v", op, err)
		}
	}
}

// TestCostIsCountedBefore runs templates whose values or texts are far larger than the limits. Each ends at one of them
// before it takes much time or memory.
func TestCostIsCountedBefore(t *testing.T) {
	names := func(prefix string, n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = prefix + text(int64(10000+i))
		}
		return strings.Join(list, ",")
	}
	long := strings.Repeat("a", 990)
	longKeys := "{% set d = dict(range(10000, 14000) | map('string') | map('indent', 'a' * 990, true) | batch(2)) %}"
	tests := map[string]string{
		"calls without arguments":   "{% macro m(" + names("p", 20000) + ") %}{% endmacro %}{% for i in range(1000) %}{{ m() }}{% endfor %}",
		"names of parameters":       "{% macro m(" + names("p", 20000) + ") %}{% endmacro %}{% for i in range(1000) %}{% if m.arguments %}{% endif %}{% endfor %}",
		"names of parameters, kept": "{% macro m(" + names("p", 20000) + ") %}{% endmacro %}{{ [" + strings.Repeat("m.arguments, ", 1000) + "] | length }}",
		"long names of parameters":  "{% macro m(" + names(long, 500) + ") %}{{ kwargs }}{% endmacro %}" + longKeys + "{% for i in range(100) %}{{ m(**d) }}{% endfor %}",
		"long names of a format":    longKeys + "{{ (('{' ~ 'a' * 990 ~ '11998}') * 2000).format(**d) }}",
		"long names of variables":   "{% macro m() %}" + strings.Repeat("{% with a = 1 %}", 150) + "{% for i in range(10000) %}{% if " + strings.Repeat(long+" or ", 50) + "1 %}{% endif %}{% endfor %}" + strings.Repeat("{% endwith %}", 150) + "{% endmacro %}{{ m() }}",
		"undefined values":          "{% set n = namespace(l=0) %}{% for i in range(1000) %}{% set n.l = [[" + strings.Repeat(long+",", 500) + "], n.l] %}{% endfor %}",
		"undefined attributes":      "{% set n = namespace(l=0) %}{% for i in range(1000) %}{% set n.l = [[" + strings.Repeat("n."+long+",", 500) + "], n.l] %}{% endfor %}",
		"split":                     "{{ (',' * 12000000).split(',') | length }}",
		"rsplit":                    "{{ (',' * 12000000).rsplit(',') | length }}",
		"split at white space":      "{{ ('a ' * 6000000).split() | length }}",
		"rsplit at white space":     "{{ ('a ' * 6000000).rsplit() | length }}",
		"splitlines":                "{{ ('\n' * 12000000).splitlines() | length }}",
		"indent":                    "{{ ('\n' * 12000000) | indent | length }}",
		"markup":                    "{{ ('&' * 12000000) + ('x' | safe) }}",
		"parts of parts":            "{% set s = 'x' * 1000000 %}{{ " + strings.Repeat("(s ~ s ~ s ~ ", 120) + "s" + strings.Repeat(")", 120) + " | length }}",
		"keys of many digits":       "{% set t = ('9' * 4300) | int, %}{% set t = t * 10000 %}{% for i in range(10) %}{% if {t: 1} %}{% endif %}{% endfor %}",
		"digits of floats":          "{% set l = [1e308] * 3000000 %}{{ l | map('int') | list | length }}",
		"rounding":                  "{% set l = [1e308] * 3000000 %}{{ l | map('round', 2) | list | length }}",
		"markup first":              "{{ ('x' | safe) + '&' * 12000000 }}",
		"join of markup":            "{{ ('x' | safe).join(['&' * 12000000, 'a']) }}",
		"escape":                    "{{ ('&' * 12000000) | e }}",
		"slice":                     "{{ ('x' * 12000000)[::99999999] }}",
		"lines of JSON":             "{% set n = namespace(l=[]) %}{% for i in range(150) %}{% set n.l = [n.l] %}{% endfor %}{{ n.l | tojson(indent='x' * 500000) }}",
		"indent of JSON":            "{{ [1] | tojson(indent=999999999) }}",
		"escapes of a text":         "{{ [('\x01' * 12000000)] | string | length }}",
		"escapes of JSON":           "{{ ('\x01' * 12000000) | tojson | length }}",
		"letters of both cases":     "{{ ('é' * 6000000).swapcase() | length }}",
		"title":                     "{{ ('é ' * 4000000) | title | length }}",
		"method title":              "{{ ('é ' * 4000000).title() | length }}",
	}
	for name, template := range tests {
		tmpl, err := Parse(template)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := cpuTime(t)
		_, err = tmpl.Render(NewDict(), Options{Limits: Limits{Steps: 1_000_000, Memory: 16 << 20}})
		d := cpuTime(t) - start
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "the template takes more than") && !strings.Contains(err.Error(), "the template makes more than") {
			t.Errorf("%s: %v", name, err)
		}
		if size := (after.TotalAlloc - before.TotalAlloc) >> 20; d > 1500*time.Millisecond || size > 80 {
			t.Errorf("%s: takes %v and %d MB", name, d, size)
		}
	}
}

// TestLengthOfLoop asks a long loop for its length each time.
func TestLengthOfLoop(t *testing.T) {
	const template = "{% for i in range(50000) %}{% if loop.revindex == 1 %}{{ loop.length }}{% endif %}{% endfor %}{% for i in range(9) if i is odd %}{{ loop.revindex }}{{ loop.nextitem }}{% endfor %}"
	got, err := renderText(t, template, "{}", Options{})
	if want := "500004335271"; err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// cpuTime returns the time that this process has computed for.
func cpuTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
