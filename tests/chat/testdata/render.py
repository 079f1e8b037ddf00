"""Renders templates as transformers' apply_chat_template does.

Reads a JSON list of {"template": ..., "vars": {...}} and prints a list of {"text": ...} or {"error": ...}.
"""

import datetime
import functools
import json
import sys

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.nodes import CallBlock
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2026, 11, 3, 4, 5, 6)


class Generation(Extension):
    """The statement generation: what it contains is printed."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


@functools.cache
def compiled(text):
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env.from_string(text)


def render(case):
    try:
        return {"text": compiled(case["template"]).render(**case["vars"])}
    except Exception as e:  # any error of a template
        return {"error": f"{type(e).__name__}: {e}"}


json.dump([render(case) for case in json.load(sys.stdin)], sys.stdout)
