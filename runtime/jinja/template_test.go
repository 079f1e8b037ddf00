package jinja

import (
	"strings"
	"testing"
	"time"
)

// renderText renders a template with the variables of a JSON text.
func renderText(t testing.TB, text, vars string, o Options) (string, error) {
	t.Helper()
	v, err := FromJSON([]byte(vars))
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := Parse(text)
	if err != nil {
		return "", err
	}
	return tmpl.Render(v.(*Dict), o)
}

func TestRender(t *testing.T) {
	const template = `{% for m in messages %}
<|{{ m.role }}|>{{ m['content'] | trim }}{{ '\n' }}
{%- endfor %}
{% if add_generation_prompt %}<|assistant|>{% endif %}`
	got, err := renderText(t, template, `{"messages": [{"role": "user", "content": " Hi "}], "add_generation_prompt": true}`, Options{})
	if want := "<|user|>Hi\n<|assistant|>"; err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// TestInfinityIsNoInteger has the results of jinja2 3.1.6 for texts. Versions before 3.1.5, with which tests/chat may
// compare, have an error.
func TestInfinityIsNoInteger(t *testing.T) {
	got, err := renderText(t, "{{ 'inf' | int }} {{ '-1e999' | int(3) }} {{ ('1' * 5000) | int(4) }}", "{}", Options{})
	if want := "0 3 4"; err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

func TestFaultsNameTheirPlace(t *testing.T) {
	tests := []struct{ template, want string }{
		{"a\n{{ x.y }}", "line 2, column 6: x is undefined"},
		{"{{ m.role.x }}", `line 1, column 11: the dict has no attribute 'role'`},
		{"a\n {% if x %}", "line 2, column 12: the template ends here: {% elif %} or {% else %} or {% endif %} is missing"},
		{"{% endif %}", "line 1, column 4: unexpected endif: the statement that it belongs to is missing"},
		{"é{{ 'a' + 1 }}", "line 1, column 9: + does not join values of types str and int"},
		{"{{ 'a }}", "line 1, column 4: the string has no end: write '"},
		{"{{ a", "line 1, column 1: the tag has no end: write }}"},
		{"{# a", "line 1, column 1: the comment has no end: write #}"},
		{"{{ a | nothing }}", "line 1, column 8: there is no filter nothing"},
		{"{{ a is nothing }}", "line 1, column 9: there is no test nothing"},
		{"{% include 'x' %}", "line 1, column 4: include: a chat template reads no other files"},
		{"{% wat %}", `line 1, column 4: unknown statement "wat"`},
		{"{% break %}", "line 1, column 4: break is in no loop"},
		{"{{ raise_exception('Roles must alternate') }}", "Roles must alternate (raised at line 1, column 19)"},
		{"{{ [1].append(2) }}", "line 1, column 8: append would change a list: values of a template do not change"},
		{"{{ 1 / 0 }}", "line 1, column 6: division by zero"},
		{`{{ '\N{BULLET}' }}`, `line 1, column 4: names of characters such as \N{BULLET} are not supported`},
		{`{{ '\u12' }}`, `line 1, column 4: the escape \u is no number of a character`},
		{"{{ '99999999999999999999' | int + 1 }}", "line 1, column 33: an integer needs more than 64 bits"},
		{"{{ 9223372036854775807 + 1 }}", "line 1, column 24: an integer needs more than 64 bits"},
		{"{{ 1.real }}", "line 1, column 6: the attribute real of numbers is not supported"},
		{"{{ '%05.3d' % 1 }}", "line 1, column 13: %05.3: zeros before such a number are not supported"},
		{"{{ '%05f' % ('inf' | float) }}", "line 1, column 11: %05: zeros before such a number are not supported"},
		{"{{ ([] | first).x }}", "line 1, column 17: there is no first element of an empty sequence"},
		{"{{ [][none].x }}", "line 1, column 13: the list has no element None"},
		{"{% macro m(a) %}{{ a.b }}{% endmacro %}{{ m() }}", "line 1, column 22: the parameter a was not given"},
		{"{{ strftime_now('%Y') }}", "line 1, column 16: strftime_now: no time is given"},
		{"{% set a.b = 1 %}", "line 1, column 8: a.b cannot be set: a is no namespace"},
		{"{{ (1 }}", "line 1, column 7: unexpected }, where ) closes a bracket"},
		{"{{ 1 2 }}", `line 1, column 6: unexpected "2": }} is missing`},
		{"{% for a, b in [[1]] %}{% endfor %}", "line 1, column 8: 1 values are assigned to 2 names"},
	}
	for _, tt := range tests {
		_, err := renderText(t, tt.template, `{"m": {}}`, Options{})
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.template, err, tt.want)
		}
	}
}

func TestLimits(t *testing.T) {
	const endless = "{% macro f(n) %}{{ f(n) }}{% endmacro %}"
	tests := []struct {
		template string
		limits   Limits
		want     string
	}{
		{"{% for a in range(1000) %}{% for b in range(1000) %}{% for c in range(1000) %}{% endfor %}{% endfor %}{% endfor %}", Limits{Steps: 100000}, "more than 100000 steps"},
		{"{{ 'abc' * 1000000000000 }}", Limits{}, "bytes of text"},
		{"{{ [1] * 1000000000000 }}", Limits{}, "bytes of text"},
		{"{% set n = namespace(s='abcdefgh') %}{% for i in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}", Limits{}, "bytes of text"},
		{"{% for i in range(100) %}{{ i }}{% endfor %}", Limits{Output: 50}, "prints more than 50 bytes"},
		{endless + "{{ f(1) }}", Limits{}, "more than 1000 levels deep"},
		{strings.Repeat("{% if a %}", 300), Limits{}, "more than 200 levels"},
		{"{{ " + strings.Repeat("(", 300) + strings.Repeat(")", 300) + " }}", Limits{}, "more than 200 levels"},
		{"{{ 1" + strings.Repeat("+1", 2000) + " }}", Limits{}, "more than 1000 levels deep"},
		{"{{ range(100001) }}", Limits{}, "more than 100000 elements"},
		{"{% set n = namespace(l=[]) %}{% for i in range(5000) %}{% set n.l = [n.l] %}{% endfor %}{{ n.l }}", Limits{}, "levels deep"},
		{"{% set n = namespace(l=[1]) %}{% for i in range(50000) %}{% set n.l = n.l | map('string') %}{% endfor %}{{ n.l | list }}", Limits{}, "levels deep"},
		{"{% set n = namespace() %}{% set n.n = [n] %}{{ n.n }}", Limits{}, "levels deep"},
		{"{{ '%999999999d' % 1 }}", Limits{}, "the width is larger than 1000"},
		{"{{ 'a'.ljust(99999999999) }}", Limits{}, "bytes of text"},
		{"{{ 'aaaa'.replace('a', 'b' * 1000000).replace('b', 'c' * 1000000) }}", Limits{}, "bytes of text"},
		{"{{ 'a' | indent(99999999999) }}", Limits{}, "bytes of text"},
	}
	for _, tt := range tests {
		start := time.Now()
		_, err := renderText(t, tt.template, `{"a": 1}`, Options{Limits: tt.limits})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.60s: %v, want %s", tt.template, err, tt.want)
		}
		if d := time.Since(start); d > time.Minute {
			t.Errorf("%.60s: took %v", tt.template, d)
		}
	}
}
