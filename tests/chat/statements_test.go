package chat

import (
	"encoding/json"
	"testing"
)

// statements are templates that are compared with jinja2, white space and errors included.
var statements = []string{
	// White space around tags.
	"a\n{% if t %}\nb\n{% endif %}\nc\n", "a\n  {% if t %}\n  b\n  {% endif %}\n  c\n\n", "a {% if t %} b {% endif %} c", "a\n  {%- if t %}\n b\n {%- endif -%}\n c", "a\n  {%+ if t %}\n b\n  {%+ endif +%}\n c",
	"a\n {{ n }}\n b", "a\n {{- n -}}\n b", "a {#- x -#} b", "a\n  {# x #}\n b\n{# y #}c", "a {#+ x +#}\n b", "{# a\n b #}\n\nc", "{%- if t -%}\n\n x \n\n{%- endif -%}", "\r\na\rb\r\n", "a\n", "a\n\n", "\n", "", " {% if t %}x{% endif %}", "\t{% if t %}\tx\t{% endif %}\t\n", "x{% if t %}\n  {% if t %}\n y\n  {% endif %}\n{% endif %}",
	"{% if t %}a{% endif %}  {% if t %}\nb{% endif %}", "a\n\u00a0{% if t %}b{% endif %}", "{{ '{{' }}{{ '%}' }}", "{{ {'a': {'b': 1}}['a']['b'] }}", "{ % } {", "{{ n }}}", "{%if t%}a{%endif%}", "{% if t %}{{- ' a' }}{% endif %}\n\n{{ n -}}  \n b", "{{ -n -}} x", "{{ n\n}}\n{% if\n t\n%}\ny{% endif %}",
	"{% raw %}{{ a }}{% b %}{# c #}{% endraw %}", "a\n  {% raw %}\n x {{\n  {% endraw %}\n b", "a {%- raw -%} x {%- endraw -%} b", "{%raw%}x{%endraw%}y", "a {% if", "a {{", "a {# b #} {# c", "{% for i in l %}{% break %}{% else %}no{% endfor %}",
	// If.
	"{% if f %}a{% elif n == 7 %}b{% else %}c{% endif %}", "{% if f %}a{% elif f %}b{% else %}c{% endif %}", "{% if f %}a{% endif %}", "{% if nothing %}a{% else %}b{% endif %}", "{% if nothing.x %}a{% endif %}", "{% if (1, 0) %}a{% endif %}", "{% if t %}{% set q = 1 %}{% endif %}{{ q }}", "{% if f %}{% set q = 1 %}{% endif %}{{ q is defined }}",
	// For.
	"{% for i in l %}{{ i }},{% endfor %}", "{% for i in el %}x{% else %}none{% endfor %}", "{% for i in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }} {% endfor %}", "{% for i in l if i > 1 %}{{ i }}{{ loop.index }}{{ loop.last }}{{ loop.length }}{% endfor %}", "{% for i in l if i > 9 %}{{ i }}{% else %}none{% endfor %}",
	"{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}", "{% for c in s %}{{ c }}.{% endfor %}", "{% for i in no %}{% endfor %}", "{% for i in nothing %}x{% else %}y{% endfor %}", "{% for i in n %}{% endfor %}", "{% for a, b in [[1, 2], [3, 4]] %}{{ a + b }} {% endfor %}", "{% for a, b in [[1, 2, 3]] %}{% endfor %}", "{% for (a, b), c in [[[1, 2], 3]] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
	"{% for i in l %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {% endfor %}", "{% for i in l %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }} {% endfor %}", "{% for i in range(5) %}{{ loop.cycle('a', 'b') }}{% endfor %}", "{% for i in [1, 1, 2] %}{{ loop.changed(i) }}{% endfor %}", "{% for i in l %}{% for j in l %}{{ loop.depth }}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}", "{% for i in l %}{% set k = i %}{% endfor %}{{ k is defined }}", "{% set k = 0 %}{% for i in l %}{{ k }}{% set k = i %}{{ k }} {% endfor %}{{ k }}", "{% for i in l %}{% endfor %}{{ i is defined }}{{ loop is defined }}",
	"{% for i in range(9) %}{% if i == 3 %}{% continue %}{% endif %}{% if i == 6 %}{% break %}{% endif %}{{ i }}{% endfor %}", "{% for i in l %}{% for j in l %}{% break %}{% endfor %}{{ i }}{% else %}no{% endfor %}", "{% for i in l %}{% continue %}{% else %}no{% endfor %}", "{% for x in nested.a.b recursive %}{{ x.c }}{% endfor %}", "{% for x in [{'v': 1, 'k': [{'v': 2, 'k': [{'v': 3}]}]}, {'v': 4}] recursive %}{{ loop.depth }}:{{ x.v }}{% if x.k %}({{ loop(x.k) }}){% endif %} {% endfor %}", "{% for i in l %}{{ loop(l) }}{% endfor %}", "{% for i in l %}{{ loop.nothing }}{% endfor %}",
	"{% for i in people | selectattr('pet') %}{{ i.name }}{{ loop.last }}{{ loop.index }}{% endfor %}", "{% for i in w | map('upper') %}{{ i }}{{ loop.length }}{% endfor %}", "{% set ns = namespace(done=false) %}{% for i in range(5) if not ns.done %}{{ i }}{% if i == 2 %}{% set ns.done = true %}{% endif %}{% endfor %}", "{% for i in 1, 2, 3 %}{{ i }}{% endfor %}", "{% for i in l if t else el %}{{ i }}{% endfor %}", "{% for i in (l if t else el) %}{{ i }}{% endfor %}", "{% for i in [1] + l if i is odd %}{{ i }}{% endfor %}", "{% for i in l[1:] | reverse %}{{ i }}{% endfor %}", "{% for message in people %}{% if loop.index0 == 0 and not loop.last %}{{ message.name }}{% endif %}{% endfor %}",
	// Set and with.
	"{% set a = 1 %}{{ a }}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a, b = [1] %}", "{% set a = 1, 2 %}{{ a }}", "{% set a %}x {{ n }} y{% endset %}[{{ a }}]", "{% set a | upper | trim %} x {% endset %}[{{ a }}]", "{% set a %}{% set b = 1 %}{{ b }}{% endset %}{{ a }}{{ b is defined }}", "{% set n = n + 1 %}{{ n }}", "{% set ns = namespace(a=1, b=[]) %}{% set ns.a = ns.a + 1 %}{% set ns.c = 3 %}{{ ns.a }}{{ ns.c }}{{ ns.b }}", "{% set d.x = 1 %}", "{% set nothing.x = 1 %}", "{% set x = nothing %}{{ x is defined }}{{ x }}",
	"{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a is defined }}", "{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q is defined }}", "{% with n = 1, m = n %}{{ m }}{% endwith %}", "{% filter upper %}a{{ s }}{% endfilter %}", "{% filter replace('a', 'b') | upper %}banana{% endfilter %}", "{% filter trim %}  a {% endfilter %}|", "{% generation %}a{{ n }}{% endgeneration %}b", "{% for i in l %}{%- generation %} {{ i }} {%- endgeneration %}\n{% endfor %}", "{% print n, s %}", "{% print(n) %}",
	// Macros.
	"{% macro m(a, b=2, c=b) %}{{ a }}-{{ b }}-{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(c=5, a=4) }}", "{% macro m(a) %}[{{ a }}]{% endmacro %}{{ m() }}", "{% macro m(a) %}{{ a is defined }}{% endmacro %}{{ m() }}", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{% endmacro %}{{ m(b=1) }}", "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, a=3) }}", "{% macro m(a, a2=1) %}{% endmacro %}{{ m(1, a=2) }}", "{% macro m(x) %}{{ n }}{{ x }}{% set n = 1 %}{{ n }}{% endmacro %}{{ m(1) }}{{ n }}", "{% macro f(k) %}{% if k > 0 %}{{ k }}{{ f(k - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "{% set q = 1 %}{% macro m() %}{{ q }}{% endmacro %}{% set q = 2 %}{{ m() }}", "{% for i in l %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}", "{{ m(1) }}{% macro m(a) %}{{ a }}{% endmacro %}", "{% macro m() -%}\n  x\n{%- endmacro %}[{{ m() }}]", "{% macro m(a) %}{{ a | upper }}{% endmacro %}{{ m('x') ~ m('y') | lower }}{{ m('x').strip() | length }}", "{% macro m(a=1, b) %}{% endmacro %}",
	"{% macro m(t) %}<{{ t }}>{{ caller() }}</{{ t }}>{% endmacro %}{% call m('b') %}x{{ n }}{% endcall %}", "{% macro m(l) %}{% for i in l %}{{ caller(i) }}{% endfor %}{% endmacro %}{% call(x) m([1, 2]) %}({{ x }}){% endcall %}", "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}", "{% macro m() %}{% endmacro %}{% call m() %}{% endcall %}", "{% call 1 %}{% endcall %}", "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
	"{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.next() }}", "{% set j = joiner(' | ') %}{% for i in l %}{{ j() }}{{ i }}{% endfor %}", "{% macro m(x) %}{% for i in x %}{% if i is mapping %}{{ m(i.values()) }}{% else %}{{ i }}{% endif %}{% endfor %}{% endmacro %}{{ m([{'a': 1}, 2]) }}",
	// Errors.
	"{% if %}", "{% if t %}", "{% for %}", "{% for i l %}{% endfor %}", "{% endif %}", "{% else %}", "{% wat %}", "{% set %}", "{% set 1 = 2 %}", "{% set a = %}", "{% break %}", "{% for i in l %}{% endif %}", "{% macro %}", "{% %}", "{{ }}", "{% include 'x' %}", "{% extends 'x' %}", "{% if t %}{% for i in l %}{% endif %}{% endfor %}", "{% set true = 1 %}", "{% for i in l %}", "{% endfor %}", "{% if t }}", "{{ n %}",
	"{% if messages is defined and messages[0]['role'] == 'system' %}a{% endif %}b", "{{ raise_exception('Roles must alternate') }}", "{% if f %}{{ raise_exception('x') }}{% endif %}ok", "{% for p in people %}{% if p.pet is not defined %}{{ raise_exception('no pet: ' + p.name) }}{% endif %}{% endfor %}",
}

// TestStatements compares what templates print with jinja2.
func TestStatements(t *testing.T) {
	var cases []rendering
	for _, s := range statements {
		cases = append(cases, rendering{s, json.RawMessage(expressionVars)})
	}
	for i, want := range python(t, cases) {
		if what := differs(t, cases[i], want); what != "" {
			t.Errorf("%q: %s", cases[i].Template, what)
		}
	}
}
