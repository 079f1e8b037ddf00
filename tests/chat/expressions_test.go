package chat

import (
	"encoding/json"
	"testing"
)

// expressionVars are the variables of the expressions.
const expressionVars = `{"s": "Hello, Wörld! 你好", "e": "", "n": 7, "x": 2.5, "neg": -3, "t": true, "f": false, "no": null,
	"l": [3, 1, 2], "el": [], "w": ["b", "A", "c", "a"], "d": {"b": 1, "a": [1, "two"], "C": null}, "ed": {}, "lines": "one\n two\r\nthree\n",
	"people": [{"name": "Ann", "age": 40, "pet": {"kind": "cat"}}, {"name": "bob", "age": 30}, {"name": "Cid", "age": 30, "pet": {"kind": "dog"}}],
	"html": "<a href=\"x\">'&'</a>", "nested": {"a": {"b": [{"c": 1}]}}}`

// expressions are compared with jinja2, errors included: both have one or neither.
var expressions = []string{
	// Constants and literals.
	"1", "1_000", "0x1F", "0o17", "0b101", "1.5", "1e3", "1.5e-7", "1e16", "1e22", "123456789.125", "0.1 + 0.2", "100000000000000000.0", "true", "True", "none", "None", "'a' 'b'",
	`"a\tb\n\\ \" \x41 \u00e9 \U0001F600 \101 \q"`, "[1, 'a', none, [2.0]]", "(1, 'a')", "(1,)", "()", "{'a': 1, 2: 'b', none: true}", "[1, 2,]", "{'a': 1,}", "1, 2",
	// Arithmetic.
	"7 // 2", "-7 // 2", "7 % 3", "-7 % 3", "7 % -3", "7 / 2", "6 / 2", "2 ** 10", "2 ** -1", "2 ** 0.5", "-2 ** 2", "7.5 // 2", "-7.5 % 2", "1 + true", "true + true", "+5", "-x", "1 / 0", "1 % 0", "1.0 // 0",
	"'a' * 3", "3 * 'ab'", "[1] * 2", "'a' + 'b'", "[1] + [2]", "(1,) + (2,)", "[1] + (2,)", "'a' + 1", "1 + none", "'a' ~ 1 ~ none ~ 2.0 ~ [1]", "no ~ t", "'%s-%d-%5.2f|%-4s|%03d' % ('a', 7, 2.5, 'b', 5)", "'%s' % 'a'", "'%d' % 'a'", "'%s %s' % 'a'", "'100%%' % ()",
	"n - 1", "2 - 3 - 4", "2 * 3 + 4", "2 + 3 * 4", "1 + 2 ~ 3", "'a' ~ 'b' * 2", "2 ** 3 ** 2", "- 2 | abs", "-n | abs", "7 // 0.5",
	// Comparisons.
	"1 == 1.0", "1 == true", "'1' == 1", "none == none", "none == false", "[1] == [1.0]", "(1,) == [1]", "d == d", "{'a': 1} == {'a': 1.0}", "1 < 2 < 3", "1 < 3 < 2", "'a' < 'b'", "[1, 2] < [1, 3]", "'a' < 1", "none < 1", "1 != 2", "2 >= 2", "1 in [1]", "'l' in s", "1 in s", "'b' in d", "[] in d", "1 not in l", "1 in no",
	"not 1", "not not e", "1 and 2", "0 or 'x'", "e or el or 0", "f and nothing.x", "t if n else f", "'y' if f", "1 if f else 2 if f else 3", "not 1 == 2", "nothing == nothing", "nothing == none", "nothing in [1]",
	// Attributes and indexes.
	"d.b", "d['b']", "d.nothing", "d['items'] is callable", "d.a[1]", "nested.a.b[0].c", "nested['a']['b'][-1]['c']", "nested.x.y", "l[0]", "l[-1]", "l[9]", "l['0']", "l.0", "s[0]", "s[-1]", "s[99]", "s[7:12]", "s[::-1]", "l[::-1]", "l[1:]", "l[:-1]", "l[-2:]", "l[5:]", "l[::2]", "s[:5]", "(1, 2, 3)[1:]", "d[:1]", "l[::0]", "l['a':]", "nothing.x", "nothing[0]", "nothing[0:1]", "no.x", "n.x", "s.nothing", "l[true]", "l[1.0]", "l[2:0:-1]", "l[-9:9]", "s[2:2]",
	// Methods of texts.
	"s.upper()", "s.lower()", "s.title()", "\"they're bill's\".title()", "'hELLO'.capitalize()", "s.swapcase()", "'  a '.strip()", "'xxaxx'.strip('x')", "'  a '.lstrip()", "'  a '.rstrip()", "'abcba'.strip('ab')", "s.split()", "s.split(', ')", "'a,b,c'.split(',', 1)", "'a,b,c'.rsplit(',', 1)", "' a  b c '.split(none, 1)", "' a  b c '.rsplit(none, 1)", "'a,b'.split(sep=',', maxsplit=-1)", "''.split()", "''.split(',')", "'a'.split('')", "lines.splitlines()", "lines.splitlines(true)", "s.startswith('Hell')", "s.startswith(('x', 'H'))", "s.endswith('好')", "s.startswith(1)",
	"s.replace('l', 'L')", "s.replace('l', 'L', 1)", "'aaa'.replace('', '-')", "s.find('W')", "s.find('好')", "s.find('z')", "s.rfind('l')", "s.index('z')", "s.count('l')", "'-'.join(w)", "'-'.join(l)", "'-'.join('abc')", "'a'.isdigit()", "'12'.isdigit()", "'a1'.isalnum()", "'ab'.isalpha()", "' '.isspace()", "''.isspace()", "'AB'.isupper()", "'ab'.islower()", "'a=b=c'.partition('=')", "'a=b=c'.rpartition('=')", "'ab'.partition('x')", "'ab'.rpartition('x')", "'7'.zfill(3)", "'-7'.zfill(4)", "'a'.ljust(3) ~ '|'", "'a'.rjust(3, '*')", "'ab'.center(5)", "'ab'.center(6, '.')", "'abc'.removeprefix('a')", "'abc'.removesuffix('c')", "'{} {}'.format(1, 'a')", "'{1} {0} {x}'.format(1, 2, x=3)", "'{{}}'.format()", "'{}'.format()", "s.upper is callable", "'a'.nothing()", "'abc'.isascii()",
	// Methods of others.
	"d.items() | list", "d.keys() | list", "d.values() | list", "d.get('b')", "d.get('z')", "d.get('z', 5)", "d.get([])", "l.count(1)", "l.index(2)", "l.index(9)", "l.append(4)", "d.update({})", "d.pop('b')", "(1, 2, 1).count(1)", "l.copy()", "d.copy()",
	// Filters.
	"neg | abs", "'a' | abs", "s | capitalize", "'ab' | center(6)", "nothing | default('x')", "e | default('x')", "e | default('x', true)", "no | default('x')", "nothing | d", "html | e", "html | escape", "html | safe", "html | safe | e", "'<' + (html | safe)", "(html | safe) + '<'", "'<' ~ (html | safe)", "(html | e) | upper", "html | forceescape",
	"'2.5' | float", "'x' | float", "'x' | float(1.5)", "n | float", "no | float", "'12' | int", "'12.7' | int", "' 12 ' | int", "'x' | int", "'x' | int(5)", "'ff' | int(0, 16)", "2.9 | int", "-2.9 | int", "no | int", "nothing | int", "d.nothing | int(3)", "nothing | float", "'%s=%s' | format('a', 1)", "'%(a)s' | format(a=1)", "lines | indent", "lines | indent(2, true)", "lines | indent(first=true)", "lines | indent('--', blank=true)", "'a' | indent(0)",
	"s | length", "l | length", "d | length", "n | length", "nothing | length", "w | count", "s | lower", "s | upper", "s | title", "'foo-bar (baz) [x] {y} <z' | title", "s | replace('l', 'L')", "n | replace('7', '8')", "2.5 | round", "3.5 | round", "2.675 | round(2)", "2.675 | round(2, 'floor')", "2.671 | round(2, 'ceil')", "7 | round", "1234.5 | round(-2)", "'a' | round", "2.5 | round | int",
	"n | string", "l | string", "'  a\n' | trim", "'xax' | trim('x')", "('abc ' * 100) | truncate(20)", "('abc ' * 100) | truncate(20, true)", "'short' | truncate(3)", "'short text here' | truncate(9, false, '..', 0)", "'a b/c?d=é' | urlencode", "s | wordcount", "html | length",
	"d | tojson", "l | tojson", "s | tojson", "html | tojson", "x | tojson", "1e22 | tojson", "1.0 | tojson", "no | tojson", "nothing | tojson", "d | tojson(indent=2)", "nested | tojson(indent=4)", "ed | tojson(indent=2)", "el | tojson(indent=2)", "{1: 2, none: 3, true: 4, 1.5: 5} | tojson", "s | tojson(ensure_ascii=true)", "'😀' | tojson(ensure_ascii=true)", "d | tojson(separators=(',', ':'))", "nested | tojson(indent=1, separators=(',', ' = '))", "{'b': 1, 'a': 2} | tojson(sort_keys=true)", "'\\x01\\x7f\\u2028' | tojson", "(1, 2) | tojson", "d | tojson(indent='>')", "d | tojson(indent=0)",
	"l | first", "l | last", "el | first", "el | last", "s | first", "s | last", "d | first", "l | list", "s | list", "d | list", "n | list", "l | join", "w | join(', ')", "l | join('-')", "people | join(', ', attribute='name')", "no | join", "nothing | join", "w | sort", "l | sort", "l | sort(reverse=true)", "w | sort(case_sensitive=true)", "people | sort(attribute='age') | map(attribute='name') | list", "people | sort(attribute='age,name', reverse=true) | map(attribute='name') | list", "[1, 'a'] | sort", "w | unique | list", "['a', 'A', 'b'] | unique | list", "['a', 'A', 'b'] | unique(true) | list",
	"l | max", "l | min", "el | max", "w | max", "w | min", "people | max(attribute='age')", "l | sum", "people | sum(attribute='age')", "l | sum(start=10)", "w | sum", "l | reverse | list", "s | reverse", "people | map(attribute='name') | list", "people | map(attribute='pet.kind') | list", "people | map(attribute='pet', default='none') | list", "people | map(attribute='pet.kind', default='none') | list", "people | map(attribute='pet.kind.x', default=0) | list", "w | map('upper') | list", "w | map('replace', 'a', 'z') | join", "no | map('upper') | list", "people | map(attribute='age') | map('string') | join('+')", "l | map('nothing') | list",
	"people | selectattr('pet') | map(attribute='name') | list", "people | selectattr('pet', 'defined') | map(attribute='name') | list", "people | rejectattr('pet', 'defined') | map(attribute='name') | list", "people | selectattr('age', 'equalto', 30) | list | length", "people | selectattr('age', '>', 35) | map(attribute='name') | first", "people | selectattr('pet.kind', 'eq', 'cat') | list | length", "l | select('odd') | list", "l | reject('odd') | list", "[0, 1, '', 'a', none] | select | list", "no | selectattr('x') | list", "w | select('in', ['a', 'b']) | list", "w | select('nothing') | list", "'x' if el | selectattr('a') else 'y'",
	"l | batch(2) | list", "l | batch(2, 'x') | list", "range(7) | slice(3) | list", "range(7) | slice(3, 'x') | list", "d | dictsort", "d | dictsort(true)", "{'a': 2, 'b': 1} | dictsort(by='value')", "d | dictsort(reverse=true)", "d | items | list", "nothing | items | list", "l | items | list", "people | groupby('age') | map('first') | list", "people | groupby('age') | map('last') | map('length') | list", "people | groupby('nothing', default=1) | list | length", "d | attr('items') is callable", "d | attr('b') is defined", "s | nothing", "s | lower(1)", "l | join(nothing='a')",
	// Tests.
	"nothing is defined", "no is defined", "nothing is undefined", "no is none", "e is none", "t is boolean", "1 is boolean", "t is true", "1 is true", "f is false", "n is integer", "t is integer", "x is integer", "x is float", "n is number", "t is number", "s is number", "s is string", "n is string", "l is sequence", "s is sequence", "d is sequence", "n is sequence", "d is mapping", "l is mapping", "l is iterable", "s is iterable", "n is iterable", "nothing is iterable", "range is callable", "s is callable", "n is odd", "n is even", "8 is divisibleby 4", "8 is divisibleby(3)", "n is eq 7", "n is ne 7", "n is gt 5", "n is lt(5)", "n is ge 7", "n is le 6", "n is == 7", "n is in [7]", "'a' is in 'abc'", "d is sameas d", "[] is sameas []", "none is sameas none", "s is lower", "'ab' is lower", "'AB' is upper", "'1' is upper", "n is not string", "not n is string", "n is string or t", "n is nothing", "'upper' is filter", "'odd' is test", "html | safe is string", "(html | safe) is escaped", "s is escaped", "nothing is sequence", "nothing is mapping", "1.5 is divisibleby 0.5",
	// Functions.
	"range(3)| list", "range(1, 7, 2) | list", "range(3, 0, -1) | list", "range(0) | list", "range(1.5)", "range(5)[1]", "range(5)[-1]", "dict(a=1, b=2)", "dict(d, z=1) | length", "dict([('a', 1)])", "namespace(a=1).a", "namespace(a=1).b is defined", "nothing()", "n()", "strftime_now('%d %b %Y|%A %B %-d %j %H:%M:%S %y %m %p %I %% %e|%Z|%z')", "raise_exception('stop here')", "dict(*[], **{'a': 1})", "range(*[1, 3]) | list", "'{a}'.format(**{'a': 1})",
	// Errors.
	"1 +", "(1", "a b", "{{", "'a", "1 is", "l |", "d.", "l[", "not", "a if", "1 ++ 2", "2 2", "@", "a = 1", "[1 2]", "{'a' 1}", "f(a=1, 2)", "{[]: 1}", "1 not 2", "x is defined is defined",
}

// TestExpressions compares values of expressions with those of jinja2.
func TestExpressions(t *testing.T) {
	var cases []rendering
	for _, e := range expressions {
		cases = append(cases, rendering{"{{ " + e + " }}", json.RawMessage(expressionVars)})
	}
	for i, want := range python(t, cases) {
		if what := differs(t, cases[i], want); what != "" {
			t.Errorf("%s: %s", cases[i].Template, what)
		}
	}
}
