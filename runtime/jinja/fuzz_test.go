package jinja

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// fuzzSeeds are templates with every statement.
var fuzzSeeds = []string{
	"{% for m in messages %}{{ '<' + m.role + '>' }}{{ m['content'] | trim }}{% if not loop.last %}\n{% endif %}{% else %}x{% endfor %}",
	"{%- set ns = namespace(a=0, b=[]) -%}{% for i in range(5) if i is odd %}{% set ns.a = ns.a + i %}{% break %}{% endfor %}{{ ns.a }}",
	"{% macro m(a, b=1, *c) %}{{ varargs }}{% endmacro %}{{ m(1, b=2) }}",
	"{% macro m(a) %}{{ caller(a) }}{% endmacro %}{% call(x) m([1]) %}{{ x | tojson(indent=2) }}{% endcall %}",
	"{% set x | upper %}{% filter trim %} a {% endfilter %}{% endset %}{% with y = x ~ 1 %}{{ y[::-1] }}{% endwith %}",
	"{% raw %}{{ }}{% endraw %}{# c #}{% generation %}{{ messages | selectattr('role', 'eq', 'user') | map(attribute='content') | list | first }}{% endgeneration %}",
	"{{ {'a': (1, 2.5), none: [true]} }}{{ 'a%sb' % 1 }}{{ '{}'.format(2) }}{{ 7 // 2 ** 3 % 4 }}{{ -1 if n is defined else n.x.y }}",
	"{% for t in tools recursive %}{{ loop.index }}{{ loop(t.k) if t.k }}{{ loop.cycle(1, 2) }}{% continue %}{% endfor %}",
	"{{ messages | groupby('role') | list }}{{ 'a b'.split() | join('-') | replace('a', 'b' * 3) | indent(2) }}{{ [3, 1] | sort | unique | batch(2) | list }}",
	"{{ strftime_now('%d %b %-d') }}{{ raise_exception('x') }}", "{{ 'x' * 99999999999 }}", "{{ range(99999) | list | string | length }}", "{{ (1,) * 3 ~ dict(a=1) | items | list }}",
}

// FuzzRender renders texts as templates. None panics or passes the limits, and faults are in the text.
func FuzzRender(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add(s)
	}
	vars, err := FromJSON([]byte(`{"messages": [{"role": "user", "content": " é "}, {"role": "assistant", "content": null}], "n": 3, "s": "a b", "tools": [{"k": [{"k": []}]}], "t": true}`))
	if err != nil {
		f.Fatal(err)
	}
	limits := Limits{Steps: 20000, Memory: 1 << 20, Output: 1 << 16, Depth: 200}
	f.Fuzz(func(t *testing.T, text string) {
		start := time.Now()
		out, err := "", error(nil)
		if tmpl, parseErr := Parse(text); parseErr != nil {
			err = parseErr
		} else {
			out, err = tmpl.Render(vars.(*Dict), Options{Limits: limits, Now: time.Unix(0, 0)})
		}
		var at *Error
		if err != nil && (!errors.As(err, &at) || at.Line < 1 || at.Line > 1+strings.Count(newlines(text), "\n") || at.Column < 1 || at.Column > 1+utf8.RuneCountInString(text)) {
			t.Errorf("%v: the place is not in the text", err)
		}
		if len(out) > limits.Output {
			t.Errorf("%d bytes are printed", len(out))
		}
		if d := time.Since(start); d > 30*time.Second {
			t.Errorf("took %v", d)
		}
	})
}
