// Package jinja renders chat templates: the subset of Jinja that models' files use, with the results of Python's
// jinja2 as the library transformers calls it (trim_blocks, lstrip_blocks, loop controls, a sandbox whose values do not
// change).
//
//	{%- for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}{% endfor %}
//
// A template is untrusted. It reads no file, environment or clock, it has no way to change a value that it is given,
// and Limits bound its steps, its memory and its output. [Parse] makes a tree of a text, [Template.Render] walks it.
//
// Values are those of Python: nil, bool, int64, float64, string, []any (a list), and *[Dict], which keeps the order of
// its keys. Tuples, ranges, undefined values, functions and iterators exist inside of templates alone. Strings are
// indexed by characters. Integers have 64 bits. Larger ones in JSON or a text are printed and written as JSON with all
// their digits; computing with them is an error, as a result is that needs more than 64 bits.
//
// Missing are templates in other files (extends, include, import), blocks, automatic escaping, the filters for HTML
// (striptags, urlize, xmlattr), and the filters filesizeformat, pprint, random and wordwrap.
package jinja
