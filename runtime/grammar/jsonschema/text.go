package jsonschema

import "strings"

// text returns the expression of a string.
func (p *part) text() string {
	lo, hi := p.count("minLength", 0), p.count("maxLength", -1)
	if v, ok := p.take("pattern"); ok {
		if f, ok := p.get("format"); ok {
			p.note("the format %q is not followed beside a pattern", f)
		}
		return p.pattern(v, lo, hi)
	}
	if f, ok := p.get("format"); ok {
		name, _ := f.(string)
		if forms := formats[name]; forms != nil {
			return p.format(name, forms, lo, hi)
		}
		p.note("the format %q is not followed: any string is allowed", f)
	}
	if lo == 0 && hi < 0 {
		return p.basic("string")
	}
	return `"\"" ` + p.basic("char") + p.times(lo, hi) + ` "\""`
}

// form is one form of a format's texts, which all have the same length.
type form struct {
	length int
	text   string
	basics []string // that the text uses
}

// formats are the formats of strings (RFC 3339, RFC 4122). A fraction of a second has three digits here.
var formats = map[string][]form{
	"date":      {dateForm},
	"time":      times,
	"date-time": dateTimes(),
	"uuid":      {{36, "uuid", []string{"uuid"}}},
}

var dateForm = form{10, "date", []string{"date"}}

var times = []form{
	{9, `clock "Z"`, []string{"clock"}},
	{13, `clock "." [0-9]{3} "Z"`, []string{"clock"}},
	{14, `clock zone`, []string{"clock", "zone"}},
	{18, `clock "." [0-9]{3} zone`, []string{"clock", "zone"}},
}

func dateTimes() (all []form) {
	for _, t := range times {
		all = append(all, form{dateForm.length + 1 + t.length, `date "T" ` + t.text, append([]string{"date"}, t.basics...)})
	}
	return all
}

// format returns the expression of the forms whose length is within bounds.
func (p *part) format(name string, forms []form, lo, hi int) string {
	var all []string
	for _, f := range forms {
		if f.length < lo || hi >= 0 && f.length > hi {
			continue
		}
		for _, b := range f.basics {
			p.basic(b)
		}
		all = append(all, f.text)
	}
	if all == nil {
		p.fail(p.path, "no text of the format %s has a length within minLength and maxLength", name)
	}
	return `"\"" (` + strings.Join(all, " | ") + `) "\""`
}
