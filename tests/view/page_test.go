package view

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/cmd/ggmlc/demo"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/diff"
	"github.com/ggmlc/ggmlc/passes/explain"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/passes/view"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// planned is a model with what it is compiled for.
type planned struct {
	model   []byte
	name    string // of the file
	targets string
	pins    []string

	pipeline int // steps under way; 0 is 1
}

// story is the demo model on the processor alone; spread is that model on the three backends of examples/spread.
func story() planned {
	return planned{model: demo.Model(), name: demo.Name, targets: "target cpu like=cpu"}
}

func spread(t *testing.T) planned {
	text, err := os.ReadFile(filepath.Join(needtest.Root(t), "examples", "spread", "machine.targets"))
	if err != nil {
		t.Fatal(err)
	}
	p := story()
	p.targets = string(text)
	p.pins = []string{`blk\.[01]\.=gpu`, `blk\.[23]\..*(attn_[qkv]|ffn_down)\.weight=npu`}
	return p
}

// compile compiles the model; after is called after each pass.
func (p planned) compile(t *testing.T, after func(*ir.Module) func(passes.Step, *ir.Module) error) diff.Plan {
	t.Helper()
	model := filepath.Join(t.TempDir(), p.name)
	if err := os.WriteFile(model, p.model, 0o666); err != nil {
		t.Fatal(err)
	}
	md, err := driver.Load(context.Background(), model, driver.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer md.Close()
	list, err := target.Parse("targets", p.targets)
	if err != nil {
		t.Fatal(err)
	}
	o := driver.CompileOptions{Targets: list, Passes: pass.Options{Pipeline: max(p.pipeline, 1)}}
	for _, text := range p.pins {
		pin, err := pass.ParsePin(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Passes.Pins = append(o.Passes.Pins, pin)
	}
	if after != nil {
		o.After = after(md.Module)
	}
	if _, err := driver.Compile(context.Background(), md, o); err != nil {
		t.Fatal(err)
	}
	return diff.Plan{Name: p.name, Module: md.Module, Explain: explain.Options{Targets: list}}
}

// write returns the path of the page of the model.
func (p planned) write(t *testing.T) string {
	t.Helper()
	var r *view.Recorder
	plan := p.compile(t, func(m *ir.Module) func(passes.Step, *ir.Module) error {
		r = view.NewRecorder(m)
		return r.After
	})
	return writePage(t, func(w io.Writer) error { return view.Write(w, plan.Module, r, view.Options{Explain: plan.Explain}) })
}

// writePage writes a page to a file and returns its path.
func writePage(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "plan.html")
	if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestViews opens all pages in one browser.
func TestViews(t *testing.T) {
	b := startBrowser(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *browser)
	}{
		{"page", testPage}, {"questions", testQuestions}, {"rules", testRules}, {"graph", testGraph}, {"maps", testMapsAndTimes}, {"difference", testDifference}, {"hostile", testHostileNamesAreShown},
		{"policy", testPageRunsNothingElse}, {"schemes", testSchemes}, {"functions", testFunctions}, {"figures", testFigures}, {"keyboard", testKeyboard}, {"small", testSmallWindow},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, b) })
	}
}

const (
	whyText    = `document.getElementById('why').innerText`
	whyName    = `(document.querySelector('#why h2 .name') || {textContent: ''}).textContent`
	chosenTab  = `document.querySelector('#tabs a[aria-selected=true]').textContent`
	overflowed = `document.documentElement.scrollWidth > innerWidth || document.documentElement.scrollHeight > innerHeight`
)

// testPage walks through the page of the demo model as a reader does.
func testPage(t *testing.T, b *browser) {
	p := b.open(t)
	file := story().write(t)
	t.Logf("usable after %v", p.load(file, ""))
	if got := eval[string](p, chosenTab); got != "Summary" {
		t.Errorf("the page begins with %s", got)
	}
	tabs := eval[int](p, `document.querySelectorAll('#tabs a').length`)
	for i := range tabs {
		p.key(string(rune('1' + i)))
		if eval[bool](p, overflowed) {
			t.Errorf("view %d is larger than the window", i+1)
		}
		if n := eval[int](p, `document.getElementById('view').innerText.length`); n < 100 {
			t.Errorf("view %d has %d characters", i+1, n)
		}
	}

	// A deep link is a name as explain takes it, or a label of an error or timeline.
	for name, want := range map[string]string{
		"decode.v37": "decode.loop0.v37", "decode.loop0.v37": "decode.loop0.v37", "%25v143": "decode.v143", "blk.3.ffn_up.weight": "blk.3.ffn_up.weight",
		"decode.v5": "decode.v5", "blk.0.keys": "blk.0.keys", "prefill.tokens": "prefill.tokens",
		"blk.3.ffn_up": "blk.3.ffn_up.weight", "decode.v37[l=2]": "decode.loop0.v37", "@decode split 0": "decode.v5",
		"@decode split 0[l=2]: %25v37 = copy %25v1": "decode.loop0.v37", "@nobody split 0": "@nobody split 0",
	} {
		p.load(file, "#"+name)
		if got := eval[string](p, whyName); got != want {
			t.Errorf("#%s shows %s, want %s", name, got, want)
		}
	}
	p.load(file, "#decode.v37")
	if text := eval[string](p, whyText); !strings.Contains(text, "costs 184.4 kFLOP") || !strings.Contains(text, "placed in host activations at 0x0") {
		t.Errorf("why says %s", text)
	}
	p.wait(`document.querySelectorAll('.column .val.chosen').length >= 2`)

	// A click on a value chooses it in all views.
	p.click(".column a.val", "%v29")
	if got := eval[string](p, whyName); got != "decode.loop0.v29" {
		t.Errorf("after a click on %%v29 the page shows %s", got)
	}
	if got := eval[string](p, `location.hash`); got != "#decode.loop0.v29&view=passes" {
		t.Errorf("the address is %s", got)
	}
	p.click("#why a.id", "%v7")
	if got := eval[string](p, whyName); got != "decode.loop0.v7" {
		t.Errorf("after a click on %%v7 of an explanation the page shows %s", got)
	}
	p.do("Page.navigateToHistoryEntry", map[string]any{"entryId": historyEntry(p, -1)}, nil)
	p.wait(whyName + ` === 'decode.loop0.v29'`)
	p.key("Escape")
	if got := eval[string](p, whyName); got != "" {
		t.Errorf("after Escape the page shows %s", got)
	}

	// The page of a removed node names the node that replaced it.
	p.load(file, "#decode.v36")
	if text := eval[string](p, whyText); !strings.Contains(text, "after pass fuse is the last one") || !strings.Contains(text, "decode.loop0.v37 matmul_swiglu") {
		t.Errorf("why of what was removed says %s", text)
	}
	p.quiet()
}

func historyEntry(p *tab, by int) int {
	var h struct {
		CurrentIndex int
		Entries      []struct{ ID int }
	}
	p.do("Page.getNavigationHistory", nil, &h)
	return h.Entries[h.CurrentIndex+by].ID
}

// testQuestions asks three backends what a new user would: where is a weight used, and why not elsewhere?
func testQuestions(t *testing.T, b *browser) {
	p := b.open(t)
	p.load(spread(t).write(t), "")
	summary := eval[string](p, `document.getElementById('view').innerText`)
	for _, want := range []string{"@decode: copies take", "of a call. Split", "a call move", "decode.v73.cpu", "Limits", "the 8 GiB of gpu"} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary lacks %q: %s", want, summary)
		}
	}
	p.key("/")
	for _, c := range "blk.3.ffn_up" {
		p.key(string(c))
	}
	p.key("Enter")
	if got := eval[string](p, whyName); got != "blk.3.ffn_up.weight" {
		t.Fatalf("the search has found %s", got)
	}
	if text := eval[string](p, whyText); !strings.Contains(text, "read by decode.v136 (matmul_swiglu) on cpu in @decode") {
		t.Fatalf("why says %s", text)
	}
	readers := `[...document.querySelectorAll('#why .line')].filter(l => l.textContent.startsWith('read by'))`
	inOwn := `.every(l => l.querySelector('a.id').dataset.id.startsWith(/ in @(\w+)/.exec(l.textContent)[1] + '.'))`
	if !eval[bool](p, readers+".length > 1 && "+readers+inOwn) {
		t.Error("readers in two functions link to the same node")
	}
	p.click("#why a.id", "decode.v136")
	text := eval[string](p, `document.querySelector('#why .tried').innerText`)
	for _, want := range []string{"npu", "npu has no kernel for matmul_swiglu", "gpu", "moving would add"} {
		if !strings.Contains(text, want) {
			t.Errorf("the alternatives lack %q: %s", want, text)
		}
	}
	p.key("5")
	p.wait(`document.getElementById('view').innerText.includes('Where threads wait')`)
	waits := eval[string](p, `document.getElementById('view').innerText`)
	for _, want := range []string{"gpu has to end decode.v73.cpu copy", "it reads what another thread writes (partition.raw): %v91", "% of a call, as predicted"} {
		if !strings.Contains(waits, want) {
			t.Errorf("the waits lack %q: %s", want, waits)
		}
	}
	p.key("j")
	if got := eval[string](p, whyName); got == "decode.v136" || got == "" {
		t.Errorf("the key j shows %q", got)
	}
	p.quiet()
}

// testRules chooses the lines that a rule has changed.
func testRules(t *testing.T, b *browser) {
	p := b.open(t)
	p.load(story().write(t), "#&view=passes")
	p.click(".rules button", "fuse.swiglu")
	p.wait(`document.getElementById('pass-10').scrollIntoView() || document.querySelector('#pass-10 .lines').textContent.includes('/fuse.swiglu')`)
	p.click(".folded", "5 dce")
	if got := eval[bool](p, `document.getElementById('pass-5') !== null`); !got {
		t.Error("a folded pass does not open")
	}
	p.quiet()
}

// testGraph opens the box of the layers, and chooses a node in it.
func testGraph(t *testing.T, b *browser) {
	p := b.open(t)
	file := spread(t).write(t)
	p.load(file, "#&view=graph")
	count := func(selector string) int { return eval[int](p, "document.querySelectorAll('"+selector+"').length") }
	closed := count(".canvas .node")
	if count(".edge.copy") == 0 || count(".edge.copy text") == 0 {
		t.Error("copies are no edges of their own kind with bytes")
	}
	p.click(".box.repeat .head", "layers from blk.0, 2 ×")
	if opened := count(".canvas .node"); opened <= closed+10 {
		t.Errorf("with the layers open there are %d nodes, and %d before", opened, closed)
	}
	p.click(".canvas .node", "attention")
	if got := eval[string](p, whyName); got != "decode.loop0.v25" {
		t.Errorf("a click on the first attention shows %s", got)
	}
	if count(".edge.hot") == 0 {
		t.Error("the edges of the chosen node are not marked")
	}
	p.click(".tools button", "close all")
	if n := count(".canvas .node"); n == 0 {
		t.Error("the box of the chosen node is closed")
	}
	overlaps := `(() => {
		const boxes = [...document.querySelectorAll('.canvas .node rect')].map(e => e.getBoundingClientRect());
		return boxes.filter((a, i) => boxes.some((b, j) => j > i && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length;
	})()`
	p.click(".tools button", "open all")
	if n := eval[int](p, overlaps); n > 0 {
		t.Errorf("%d nodes overlap", n)
	}
	p.load(file, "#decode.v37&view=graph")
	p.wait(`document.querySelector('.canvas .node.chosen')`)
	p.quiet()
}

// testMapsAndTimes chooses values in the maps of memory and in the lanes of time.
func testMapsAndTimes(t *testing.T, b *browser) {
	p := b.open(t)
	p.load(spread(t).write(t), "#view=memory") // without a value
	p.click(".tools button", "@prefill")
	p.click("svg.map .life", "prefill.loop0.v37 matmul_swiglu")
	if got := eval[string](p, whyName); got != "prefill.loop0.v37" {
		t.Errorf("a click on a rectangle shows %s", got)
	}
	if n := eval[int](p, `document.querySelectorAll('svg.map .life.setter').length`); n < 3 {
		t.Errorf("%d rectangles set a bound", n)
	}
	p.key("5")
	p.wait(`document.querySelector('svg.lanes .run.chosen')`)
	lanes := eval[[]string](p, `[...document.querySelectorAll('svg.lanenames .lane text:first-child')].map(e => e.textContent)`)
	for _, want := range []string{"host", "gpu", "gpu.in", "npu"} {
		if !slices.Contains(lanes, want) {
			t.Errorf("the lanes are %q, without %s", lanes, want)
		}
	}
	p.quiet()
}

// testDifference opens the page of two plans of the demo model.
func testDifference(t *testing.T, b *browser) {
	p := b.open(t)
	first, second := story().compile(t, nil), spread(t).compile(t, nil)
	p.load(writePage(t, func(w io.Writer) error { return view.WriteDiff(w, diff.Compare(first, second), first, second) }), "")
	text := eval[string](p, `document.getElementById('view').innerText`)
	for _, want := range []string{"predicted time, one after the other", "matmul_swiglu blk.*.ffn", "Only in one plan"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q: %s", want, text)
		}
	}
	p.click("#view td a.id", "attention blk.*.attn")
	if got := eval[string](p, whyName); got != "prefill.loop0.v25" {
		t.Errorf("a click on a decision shows %s", got)
	}
	p.key("3")
	p.wait(`document.querySelector('.column .row.add') && document.querySelector('.column .row.mod mark')`)
	p.quiet()
}

// hostileModel has names that would be HTML, scripts, other directions of writing, or too long.
const hostileModel = `ggir 1
module "</script><script>alert(1)</script>\x00\u202e"
after import
props imported
meta "<img src=x onerror=alert(1)>" "\"><b>"
weight "</script><script>document.title='owned'</script>" : f32[4,4] = literal "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
weight "LONG" : f32[4,4] = literal "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
func @"f\"<i>&view=x"(%"x\x00\u202e": f32[4,4]) -> ("</td>": f32[4,4]) doc="</script>" {
  %"w</script>" = weight "</script><script>document.title='owned'</script>" : f32[4,4] pos="<script>alert(1)</script>"
  %LONG = weight "LONG" : f32[4,4] pos="LONG"
  %"h<img src=x onerror=alert(1)>" = matmul %"x\x00\u202e", %"w</script>" : f32[4,4] pos="' onclick='alert(1)"
  %"LONG2" = matmul %"h<img src=x onerror=alert(1)>", %LONG : f32[4,4] pos="LONG"
  %"%y\\" = relu %LONG2 : f32[4,4] pos="</aside>"
  return %"%y\\"
}
`

// testHostileNamesAreShown opens the page of a module with such names, and chooses each of its values.
func testHostileNamesAreShown(t *testing.T, b *browser) {
	zeros := strings.Repeat("00", 64)
	text := strings.ReplaceAll(hostileModel, strings.Repeat("00", 63), zeros)
	text = strings.ReplaceAll(text, "LONG", strings.Repeat("long", 2500))
	file := planned{model: []byte(text), name: "hostile.ggir", targets: "target cpu like=cpu"}.write(t)
	p := b.open(t)
	p.load(file, "")
	ids := eval[[]string](p, `doc.nodes.map(n => n.id)`)
	if len(ids) != 6 {
		t.Fatalf("the page has %d values: %q", len(ids), ids)
	}
	views := eval[[]string](p, `views.map(v => v.name)`)
	for i := range max(len(ids), len(views)) {
		id, view := ids[i%len(ids)], views[i%len(views)]
		p.load(file, "#"+strings.ReplaceAll(url.QueryEscape(id), "+", "%20")+"&view="+view)
		p.frame()
		if got := eval[string](p, whyName); got != id {
			t.Errorf("the page of %.50q shows %.50q", id, got)
		}
		if eval[bool](p, `/(?!\n|\t)[\p{C}\u2028\u2029]/u.test(document.body.innerText + document.title + [...document.querySelectorAll('[title]')].map(e => e.title).join(''))`) {
			t.Errorf("view %s of %.50q shows characters that do not print", view, id)
		}
		if eval[bool](p, overflowed) {
			t.Errorf("view %s of %.50q is larger than the window", view, id)
		}
	}
	p.load(file, "#&view=summary")
	if got := eval[int](p, `document.querySelectorAll('#view a.id').length`); got < 3 {
		t.Errorf("the summary has %d links", got)
	}
	if got := eval[[]string](p, `[...document.querySelectorAll('#view a.id')].map(a => a.dataset.id).filter(id => !byID.has(id))`); len(got) > 0 {
		t.Errorf("the summary links to %.300q, which are no values of the page", got)
	}
	if got := eval[string](p, `document.title`); !strings.HasSuffix(got, ": plan") {
		t.Errorf("the title is %q", got)
	}
	if n := eval[int](p, `document.querySelectorAll('img, i, b > b, script').length`); n != 2 {
		t.Errorf("the page has %d elements of the module, or scripts", n-2)
	}
	p.quiet()
}

// testPageRunsNothingElse adds scripts to a page, as a fault in it would.
func testPageRunsNothingElse(t *testing.T, b *browser) {
	p := b.open(t)
	p.load(story().write(t), "")
	eval[bool](p, `(() => {
		const box = document.createElement('div');
		document.body.append(box);
		box.innerHTML = '<img src="http://localhost:1/x.png" onerror="window.owned = 1"><a href="javascript:window.owned=1">x</a>';
		const s = document.createElement('script');
		s.textContent = 'window.owned = 1';
		box.append(s);
		box.querySelector('a').click();
		return true;
	})()`)
	p.frame()
	if eval[bool](p, `window.owned === 1`) {
		t.Error("a script that is not the page's ran")
	}
	if !slices.Equal(p.blocked, []string{"csp"}) {
		t.Errorf("requests failed for %q; the image's should, by the policy", p.blocked)
	}
}

// testSchemes compares the colours of the page in light and dark.
func testSchemes(t *testing.T, b *browser) {
	p := b.open(t)
	file := story().write(t)
	seen := make(map[string]bool)
	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		p.load(file, "")
		seen[eval[string](p, `getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color`)] = true
	}
	if len(seen) != 2 {
		t.Errorf("light and dark have the colours %v", seen)
	}
}
