package chat

import (
	"encoding/json"
	"testing"
)

// own are templates with what those of published families have: how they find the system message, keep turns, leave out
// thoughts, describe tools and write calls. The text is our own.
var own = map[string]string{
	"turns between marks": `{% for m in messages %}{{ '<|start|>' + m['role'] + '\n' + m['content'] + '<|stop|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|start|>assistant\n' }}{% endif %}`,

	"system inside the first message": `{% if messages and messages[0]['role'] == 'system' %}{% set turns = messages[1:] %}{% set first = messages[0]['content'] %}{% else %}{% set turns = messages %}{% set first = false %}{% endif %}
{%- for m in turns -%}
    {%- if (m['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception('The roles user and assistant have to alternate!') }}
    {%- endif -%}
    {%- if loop.index0 == 0 and first != false -%}
        {%- set text = '[[SYS]]\n' + first + '\n[[/SYS]]\n\n' + m['content'] -%}
    {%- else -%}
        {%- set text = m['content'] -%}
    {%- endif -%}
    {%- if m['role'] == 'user' -%}{{ bos_token + '[ASK] ' + text.strip() + ' [/ASK]' }}
    {%- elif m['role'] == 'assistant' -%}{{ ' ' + text.strip() + ' ' + eos_token }}{%- endif -%}
{%- endfor -%}`,

	"roles by another name": `{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('No system messages') }}{% endif %}
{% for m in messages %}
{% set role = 'model' if m.role == 'assistant' else m.role %}
<turn>{{ role }}
{{ m.content | trim }}<end>
{% endfor %}
{% if add_generation_prompt %}
<turn>model
{% endif %}`,

	"tools as JSON with a date": `{{- bos_token }}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- if not date is defined %}
    {%- if strftime_now is defined %}{%- set date = strftime_now("%d %b %Y") %}{%- else %}{%- set date = "1 Jan" %}{%- endif %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}{%- set system = messages[0]['content'] | trim %}{%- set messages = messages[1:] %}{%- else %}{%- set system = "" %}{%- endif %}
{{- "<h>system</h>\n\nToday: " + date + "\n\n" }}
{%- if tools is not none %}{{- "Functions:\n\n" }}{%- for t in tools %}{{- t | tojson(indent=4) }}{{- "\n\n" }}{%- endfor %}{%- endif %}
{{- system + "<eot>" }}
{%- for m in messages %}
    {%- if not (m.role == 'tool' or 'tool_calls' in m) %}
        {{- '<h>' + m['role'] + '</h>\n\n' + (m['content'] | string | trim) + '<eot>' }}
    {%- elif 'tool_calls' in m %}
        {%- if not m.tool_calls | length == 1 %}{{- raise_exception("One call at a time!") }}{%- endif %}
        {%- set call = m.tool_calls[0].function %}
        {{- '<h>assistant</h>\n\n{"name": "' + call.name + '", "parameters": ' }}{{- call.arguments | tojson }}{{- "}<eot>" }}
    {%- elif m.role == "tool" or m.role == "result" %}
        {{- "<h>result</h>\n\n" }}
        {%- if m.content is mapping or (m.content is iterable and m.content is not string) %}{{- m.content | tojson }}{%- else %}{{- m.content }}{%- endif %}{{- "<eot>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<h>assistant</h>\n\n' }}{%- endif %}`,

	"thoughts left out": `{%- set ns = namespace(multi=true, last=messages | length - 1) %}
{%- for m in messages[::-1] %}
    {%- set index = (messages | length - 1) - loop.index0 %}
    {%- if ns.multi and m.role == "user" and m.content is string and not (m.content.startswith('<result>') and m.content.endswith('</result>')) %}
        {%- set ns.multi = false %}{%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for m in messages %}
    {%- if m.content is string %}{%- set content = m.content %}{%- else %}{%- set content = '' %}{%- endif %}
    {%- if m.role == "assistant" %}
        {%- set thought = '' %}
        {%- if m.reasoning_content is string %}{%- set thought = m.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set thought = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last and (loop.last or thought) %}{{- '<s>assistant\n<think>\n' + thought.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}
        {%- else %}{{- '<s>assistant\n' + content }}{%- endif %}
        {%- if m.tool_calls %}
            {%- for c in m.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}{{- '\n' }}{%- endif %}
                {%- if c.function %}{%- set c = c.function %}{%- endif %}
                {{- '<call>\n{"name": "' }}{{- c.name }}{{- '", "arguments": ' }}{%- if c.arguments is string %}{{- c.arguments }}{%- else %}{{- c.arguments | tojson }}{%- endif %}{{- '}\n</call>' }}
            {%- endfor %}
        {%- endif %}{{- '</s>\n' }}
    {%- elif m.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}{{- '<s>user' }}{%- endif %}{{- '\n<result>\n' }}{{- content }}{{- '\n</result>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}{{- '</s>\n' }}{%- endif %}
    {%- else %}{{- '<s>' + m.role + '\n' + content + '</s>\n' }}{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<s>assistant\n' }}{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}{%- endif %}`,

	"types of parameters by macros": `{%- macro type_of(spec, required, optional=false) -%}
    {%- if spec.type == "array" -%}{{ type_of(spec['items'], required) if spec['items'] else "any" }}[]{%- if spec.nullable %} | null{% endif -%}
    {%- elif spec.enum is defined and spec.enum | length > 0 -%}{{ '"' + spec.enum | join('" | "') + '"' }}
    {%- elif spec.type in ["number", "integer"] -%}number{%- elif spec.type == "object" and spec.properties -%}
        {{- "{\n" }}{%- for name, inner in spec.properties.items() -%}{{ name }}{%- if name not in (spec.required or []) -%}?{%- endif -%}{{ ": " }}{{ type_of(inner, spec.required or []) }}{%- if not loop.last -%}{{ ", " }}{%- endif -%}{%- endfor -%}}
    {%- else -%}{{ spec.type | default('any') }}{%- endif -%}
{%- endmacro -%}
{%- macro all(tools) -%}
    {%- for tool in tools %}{%- set f = tool.function %}
        {{- "// " + f.description + "\n" }}{{- "type " + f.name + " = " }}
        {%- if f.parameters and f.parameters.properties %}{{- "(_: {\n" }}
            {%- for name, spec in f.parameters.properties | dictsort %}
                {%- if spec.description %}{{- "// " + spec.description + "\n" }}{%- endif %}
                {{- name + ("?" if name not in f.parameters.required) + ": " }}{{- type_of(spec, f.parameters.required or []) }}
                {%- if spec.default is defined %}{{- ", // default: " + (spec.default | tojson if spec.default is not string else spec.default) }}{%- endif %}{{- ",\n" }}
            {%- endfor %}{{- "}) => any;\n\n" }}
        {%- else %}{{- "() => any;\n\n" }}{%- endif %}
    {%- endfor %}
{%- endmacro -%}
{%- if tools -%}{{ all(tools) | trim }}{%- endif %}
{% for m in messages -%}
{{ loop.index ~ '/' ~ loop.length }} {{ m.role | upper }}: {% if m.content is string %}{{ m.content }}{% elif m.content %}{{ m.content | selectattr('type', 'equalto', 'text') | map(attribute='text') | join }}{% else %}-{% endif %}{% for c in m.tool_calls or [] %} call {{ c.id[-5:] }} {{ c['function']['name'] | title }}({% for k, v in c.function.arguments.items() %}{{ k }}={{ v }}{{ ", " if not loop.last }}{% endfor %}){% endfor %}

{% endfor %}`,

	"calls with numbers": `{%- if messages[0]["role"] == "system" %}{%- set system = messages[0]["content"] %}{%- set rest = messages[1:] %}{%- else %}{%- set rest = messages %}{%- endif %}
{%- set users = rest | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace(index=0) %}
{%- for m in rest %}
    {%- if not (m.role == "tool" or m.role == "results" or (m.tool_calls is defined and m.tool_calls is not none)) %}
        {%- if (m["role"] == "user") != (ns.index % 2 == 0) %}{{- raise_exception("user and assistant must alternate") }}{%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for m in rest %}
    {%- if m["role"] == "user" %}
        {%- if tools is not none and tools is defined and (m == users[-1]) %}
            {{- "[TOOLS][" }}
            {%- for tool in tools %}{%- set tool = tool.function %}{{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}{{- '"' + key + '": "' + val + '"' }}{%- else %}{{- '"' + key + '": ' + val | tojson }}{%- endif %}{%- if not loop.last %}{{- ", " }}{%- endif %}
                {%- endfor %}{{- "}}" }}{%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" }}{%- endif %}
            {%- endfor %}{{- "[/TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system is defined %}{{- "[Q]" + system + "\n\n" + m["content"] + "[/Q]" }}{%- else %}{{- "[Q]" + m["content"] + "[/Q]" }}{%- endif %}
    {%- elif m.tool_calls is defined and m.tool_calls is not none %}{{- "[CALLS][" }}
        {%- for c in m.tool_calls %}{%- set out = c.function | tojson %}{{- out[:-1] }}
            {%- if not c.id is defined or c.id | length != 9 %}{{- raise_exception("Ids of calls have 9 characters!") }}{%- endif %}
            {{- ', "id": "' + c.id + '"}' }}{%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" + eos_token }}{%- endif %}
        {%- endfor %}
    {%- elif m["role"] == "assistant" %}{{- " " + m["content"] | trim + eos_token }}
    {%- elif m["role"] == "tool" %}{%- if m.content is defined and m.content.content is defined %}{%- set content = m.content.content %}{%- else %}{%- set content = m.content %}{%- endif %}{{- '[RESULT]{"content": ' + content | string + ", " }}{{- '"id": "' + m.tool_call_id + '"}[/RESULT]' }}
    {%- else %}{{- raise_exception("Only the roles user, assistant and tool are supported!") }}
    {%- endif %}
{%- endfor %}`,

	"documents and sections": `{%- if not documents %}{%- set documents = [] %}{%- endif %}
{%- macro section(name) %}
## {{ name }}
{{ caller() | indent(2, true) }}
{% endmacro -%}
{% call section('Documents') %}{% for d in documents %}Document {{ loop.index0 }}
{% for k, v in d.items() %}{{ k | capitalize }}: {{ v }}{{ '\n' }}{% endfor %}{% else %}none{% endfor %}{% endcall %}
{% set history %}{% for m in messages if m.role in ('user', 'assistant') and m.content is string %}{% generation %}{{ '%-10s|%s' % (m.role, m.content | replace('\n', ' ')) }}{% endgeneration %}

{% endfor %}{% endset %}
{{ history | trim | wordcount }} {{ history | length }}
{% filter upper %}{{ history.splitlines() | map('trim') | select | join(' / ') }}{% endfilter %}

{% with last = messages[-1] if messages else {} %}{{ last.role | default('nobody') }}: {{ last.get('content', '') | string | truncate(12, true, '..') }}{% endwith %}
{% for role, group in messages | groupby('role') %}{{ role }} {{ group | length }}{{ ';' if loop.last else ',' }}{% endfor %}`,
}

// TestOwnTemplates renders each conversation with each template as jinja2 does.
func TestOwnTemplates(t *testing.T) {
	var names []string
	var cases []rendering
	for name, text := range own {
		for _, c := range conversations() {
			names, cases = append(names, name+": "+c.name), append(cases, rendering{text, json.RawMessage(c.vars)})
		}
	}
	printed := map[string]int{}
	for i, want := range python(t, cases) {
		if what := differs(t, cases[i], want); what != "" {
			t.Errorf("%s: %s", names[i], what)
		}
		if want.Error == "" {
			printed[cases[i].Template]++
		}
	}
	for name, text := range own {
		if printed[text] < 3 {
			t.Errorf("%s: only %d conversations are not refused", name, printed[text])
		}
	}
}
