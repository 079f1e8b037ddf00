package view

import (
	"fmt"
	"strings"
	"testing"
)

const (
	viewText = `document.getElementById('view').innerText`
	shownFor = `[...document.querySelectorAll('#view .tools button.on')].map(b => b.textContent).join()`
)

// testFunctions chooses an entry point, which all views show and the address has.
func testFunctions(t *testing.T, b *browser) {
	p := b.open(t)
	file := spread(t).write(t)
	p.load(file, "#view=memory")
	p.click(".tools button", "@prefill")
	if got := eval[string](p, `location.hash`); got != "#&view=memory&func=prefill" {
		t.Errorf("the address is %s", got)
	}
	for _, key := range []string{"3", "5", "4"} {
		p.key(key)
		if got := eval[string](p, shownFor); got != "@prefill" {
			t.Errorf("view %s shows %s", key, got)
		}
	}
	p.do("Page.navigateToHistoryEntry", map[string]any{"entryId": historyEntry(p, -4)}, nil)
	p.wait(shownFor + ` === '@decode'`)

	// A value is shown in its own entry point.
	p.load(file, "#prefill.v136&view=passes")
	p.wait(`document.querySelector('.column .row[data-def="prefill.v136"] .chosen')`)
	if got := eval[string](p, `document.querySelector('.tools select').selectedOptions[0].textContent`); got != "@prefill" {
		t.Errorf("the texts are those of %s", got)
	}
	if got := eval[string](p, whyText); !strings.Contains(got, "Of the same name: decode.v136") {
		t.Errorf("why says %s", got)
	}
	p.load(file, "#prefill.v136&view=time&func=decode")
	if got := eval[string](p, shownFor); got != "@decode" {
		t.Errorf("an address with func=decode shows %s", got)
	}
	p.quiet()
}

// testFigures compares the figures of views with each other.
func testFigures(t *testing.T, b *browser) {
	p := b.open(t)
	q := spread(t)
	q.pipeline = 2
	file := q.write(t)
	p.load(file, "#view=summary")
	for _, sum := range []string{
		// Nodes of backends and copies; nodes of splits.
		`doc.summary.entries.every(e => e.backends.reduce((n, b) => n + b.nodes, e.copies.count) === e.nodes && e.splits.reduce((n, s) => n + s.runs, e.copies.count) === e.nodes)`,
		// What the view lists.
		`doc.summary.entries.every(e => copiesOf(e.func).reduce((n, c) => n + c.times, 0) === e.copies.count)`,
		`doc.summary.entries.every((e, i) => Math.abs(doc.time[i].seconds - e.call_seconds) < 1e-12)`,
	} {
		if !eval[bool](p, sum) {
			t.Errorf("not true: %s", sum)
		}
	}
	p.click("#view button", "all ")
	p.click("#view button", "the first ")
	rows := eval[int](p, `document.querySelectorAll('#view .card')[0].querySelectorAll('table')[1].rows.length - 1`)
	if want := eval[int](p, `manyCopies`); rows != want {
		t.Errorf("the table of copies has %d rows after it was folded again, want %d", rows, want)
	}
	p.load(file, "#view=memory&func=prefill")
	text := eval[string](p, viewText)
	for _, want := range []string{"2 × ", "2 instances, one for each step that is under way at once (--pipeline 2)", "a value that sets the lower bound", "bytes in use"} {
		if !strings.Contains(text, want) {
			t.Errorf("the memory of two steps under way lacks %q: %s", want, text)
		}
	}
	p.click("#view button", "more")
	if n, want := eval[int](p, `document.querySelector('#view .card p').querySelectorAll('a.id').length`), eval[int](p, `doc.summary.arenas.find(a => a.class === 'activations').setters.length`); n != want {
		t.Errorf("%d of %d setters are listed", n, want)
	}
	// The green line reaches the bound: rectangles have all instances.
	if !eval[bool](p, `doc.summary.arenas.every((a, i) => { const page = doc.memory.find(m => m.func === a.bound_func); return a.class !== 'activations' || mostAtOnce(page.lives.filter(l => l[0] === i).map(toLife), i, page.steps.length) > 0.999 * a.bound_bytes; })`) {
		t.Errorf("the bytes in use do not reach the lower bound: %s", eval[string](p, `doc.summary.arenas.map((a, i) => { const page = doc.memory.find(m => m.func === a.bound_func); return page ? a.space + a.class + mostAtOnce(page.lives.filter(l => l[0] === i).map(toLife), i, page.steps.length) + " of " + a.bound_bytes : ""; }).join()`))
	}
	p.load(file, "#view=memory&func=decode")
	if text := eval[string](p, viewText); !strings.Contains(text, "@decode has at most ") {
		t.Errorf("decode's own peak is missing: %s", text)
	}
	p.load(file, "#view=time")
	if text := eval[string](p, viewText); !strings.Contains(text, "What waits for the call before") {
		t.Errorf("the waits for the call before are missing: %s", text)
	}
	// Copies have one colour, on any lane.
	if n := eval[int](p, `document.querySelectorAll('svg.lanes .run.copied').length`); n == 0 || n != eval[int](p, `doc.time.find(t => t.func === 'decode').bars.filter(b => b[1] >= 0 && doc.nodes[b[1]].op.startsWith('copy')).length`) {
		t.Errorf("%d bars are copies", n)
	}
	p.quiet()
}

// testKeyboard walks through the page without a mouse.
func testKeyboard(t *testing.T, b *browser) {
	p := b.open(t)
	p.load(spread(t).write(t), "#view=graph")
	find := func(text string) {
		p.key("/")
		for _, c := range text {
			p.key(string(c))
		}
		p.key("Enter")
	}
	find("%v136")
	if got := eval[string](p, whyName); got != "decode.v136" {
		t.Errorf("the search has found %s", got)
	}
	if !eval[bool](p, `document.getElementById('why').contains(document.activeElement)`) {
		t.Error("after a search the focus is not on the explanation")
	}
	find("blk.3.ffn_up.weight")
	p.wait(`document.querySelector('.canvas .node.reader')`)
	p.key("5")
	p.wait(`document.querySelector('svg.lanes .run.reader')`)
	find("nothing like it")
	if got := eval[string](p, whyText); !strings.Contains(got, "Nothing in this plan has this name") {
		t.Errorf("after a search for an unknown name the page says %s", got)
	}
	p.key("/")
	p.key("x")
	p.key("Escape")
	if got := eval[string](p, `document.getElementById('search').value`); got != "" {
		t.Errorf("after Escape the search has %q", got)
	}
	eval[bool](p, `document.querySelector('#tabs a[aria-selected=true]').focus() === undefined`)
	p.key("ArrowLeft")
	if got := eval[string](p, chosenTab+` + document.activeElement.textContent`); got != "MemoryMemory" {
		t.Errorf("the arrow chooses and focuses %s", got)
	}
	p.key("3")
	box := `document.querySelector('.box .head[data-box="1"]')`
	for range 2 {
		open := eval[string](p, fmt.Sprintf(`(%[1]s.focus(), %[1]s.getAttribute('aria-expanded'))`, box))
		p.key("Enter")
		if !eval[bool](p, fmt.Sprintf(`document.activeElement === %[1]s && %[1]s.getAttribute('aria-expanded') !== '%[2]s'`, box, open)) {
			t.Error("the key Enter on the head of a box does not open or close it, or the focus is lost")
		}
	}
	p.quiet()
}

// testSmallWindow opens all views in a window as wide as a telephone.
func testSmallWindow(t *testing.T, b *browser) {
	p := b.open(t)
	p.window(400, 800)
	file := spread(t).write(t)
	for _, view := range eval[[]string](func() *tab { p.load(file, ""); return p }(), `views.map(v => v.name)`) {
		p.load(file, "#decode.v136&view="+view)
		if eval[bool](p, overflowed) {
			t.Errorf("view %s is larger than the window", view)
		}
		if !eval[bool](p, `['search', 'help'].every(i => { const r = document.getElementById(i).getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth && r.width > 20; }) && document.getElementById('search').clientWidth > 200`) {
			t.Errorf("view %s: the search or the help is not in the window", view)
		}
	}
	p.quiet()
}
