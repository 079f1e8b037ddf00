package chat

// A conversation is the variables of a template, as JSON.
type conversation struct{ name, vars string }

// tool is a function in the form in which programs of OpenAI's interface describe one.
const tool = `{"type": "function", "function": {"name": "get_weather", "description": "The weather of a place, with \"quotes\" & <signs>.",
	"parameters": {"type": "object", "properties": {
		"city": {"type": "string", "description": "Where, e.g. Zürich"},
		"unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
		"days": {"type": "integer", "description": "How many days", "nullable": true},
		"tags": {"type": "array", "items": {"type": "string"}}}, "required": ["city"]},
	"return": {"type": "string", "description": "A sentence"}}}`

// clock is a function without parameters.
const clock = `{"type": "function", "function": {"name": "now", "description": "The time.", "parameters": {"type": "object", "properties": {}}}}`

const (
	asked    = `{"role": "user", "content": "  How is the weather in Zürich & Łódź? "}`
	answered = `{"role": "assistant", "content": "It is <b>fine</b>.\n"}`
	system   = `{"role": "system", "content": "You are 'helpful'.\nBe brief."}`
	thought  = `{"role": "assistant", "content": "<think>\nThe user greets.\n</think>\n\nHello!"}`
	reasoned = `{"role": "assistant", "reasoning_content": "Let me see.", "thinking": "Let me see.", "content": "I see."}`
	calls    = `{"role": "assistant", "content": "", "tool_calls": [{"type": "function", "id": "call00001", "function": {"name": "get_weather", "arguments": {"city": "Zürich", "days": 2, "deep": {"a": [1, 2.5, null, true]}}}}]}`
	texted   = `{"role": "assistant", "content": "", "tool_calls": [{"type": "function", "id": "call00001", "function": {"name": "get_weather", "arguments": "{\"city\": \"Zürich\"}"}}]}`
	two      = `{"role": "assistant", "content": "I look.", "tool_calls": [{"type": "function", "id": "call00001", "function": {"name": "get_weather", "arguments": {"city": "A"}}}, {"type": "function", "id": "call00002", "function": {"name": "now", "arguments": {}}}]}`
	absent   = `{"role": "assistant", "content": null, "tool_calls": [{"type": "function", "id": "call00001", "function": {"name": "now", "arguments": {}}}]}`
	result   = `{"role": "tool", "name": "get_weather", "tool_call_id": "call00001", "content": "{\"sky\": \"clear\"}"}`
	second   = `{"role": "tool", "name": "now", "tool_call_id": "call00002", "content": "12:00"}`
	again    = `{"role": "user", "content": "And tomorrow?"}`
	parts    = `{"role": "user", "content": [{"type": "text", "text": "What is "}, {"type": "text", "text": "this?"}]}`
)

// tokens are the special tokens that templates name.
const tokens = `"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"`

// vars returns the variables of a conversation.
func vars(more string, messages ...string) string {
	s := `{` + tokens + `, ` + more + `"messages": [`
	for i, m := range messages {
		if i > 0 {
			s += ", "
		}
		s += m
	}
	return s + `]}`
}

const (
	prompt = `"add_generation_prompt": true, `
	closed = `"add_generation_prompt": false, `
	tools  = prompt + `"tools": [` + tool + `, ` + clock + `], `
)

// conversations returns what templates are tried with.
func conversations() []conversation {
	return []conversation{
		{"question", vars(prompt, asked)},
		{"system", vars(prompt, system, asked)},
		{"turns", vars(prompt, system, asked, answered, again)},
		{"closed", vars(closed, asked, answered)},
		{"thought", vars(prompt, asked, thought, again)},
		{"thinking on", vars(prompt+`"enable_thinking": true, "thinking": true, "reasoning_effort": "high", `, asked, reasoned, again)},
		{"thinking off", vars(prompt+`"enable_thinking": false, "thinking": false, `, system, asked)},
		{"parts", vars(prompt, parts)},
		{"tools", vars(tools, asked)},
		{"tools and system", vars(tools, system, asked)},
		{"call", vars(tools, asked, calls, result)},
		{"call without content", vars(tools, asked, absent, second)},
		{"call with text", vars(tools, asked, texted, result)},
		{"answered call", vars(tools, system, asked, calls, result, answered, again)},
		{"two calls", vars(tools, asked, two, result, second)},
		{"wrong order", vars(prompt, asked, asked)},
		{"unknown role", vars(prompt, `{"role": "narrator", "content": "Once"}`)},
		{"documents", vars(prompt+`"documents": [{"title": "One", "text": "Text one."}, {"title": "Two", "text": "Text two."}], "citation_mode": "fast", "controls": {"length": "long"}, `, asked)},
		{"nothing", vars(prompt)},
	}
}
