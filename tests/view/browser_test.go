package view

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

// browser is a Chromium without a window. It speaks the DevTools protocol over two pipes: messages in JSON, each
// followed by a zero byte.
type browser struct {
	in   io.Writer
	mu   sync.Mutex
	next int
	done map[int]chan message
	hear map[string]func(message) // by session
}

// message is a command's answer, or an event.
type message struct {
	ID      int             `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Session string          `json:"sessionId"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// startBrowser starts a browser that ends with the test.
func startBrowser(t *testing.T) *browser {
	path := chromium(t)
	ours, theirs := pipe(t)
	heard, told := pipe(t)
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{ours, told} // descriptors 3 and 4
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ours.Close()
	told.Close()
	b := &browser{in: theirs, done: make(map[int]chan message), hear: make(map[string]func(message))}
	go b.listen(heard)
	t.Cleanup(func() {
		theirs.Close()
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() && testing.Verbose() {
			t.Logf("the browser printed %s", stderr.Bytes())
		}
	})
	return b
}

// chromium returns the path of the browser.
func chromium(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	needtest.Skip(t, "chromium", "no chromium in the PATH")
	return ""
}

func pipe(t *testing.T) (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// listen hands out what the browser sends.
func (b *browser) listen(from *os.File) {
	defer from.Close()
	d := json.NewDecoder(&zeroes{from})
	for {
		var m message
		if d.Decode(&m) != nil {
			return
		}
		b.mu.Lock()
		answer, heard := b.done[m.ID], b.hear[m.Session]
		delete(b.done, m.ID)
		b.mu.Unlock()
		switch {
		case m.ID != 0 && answer != nil:
			answer <- m
		case m.ID == 0 && heard != nil:
			heard(m)
		}
	}
}

// zeroes reads with blanks in place of zero bytes.
type zeroes struct{ r io.Reader }

func (z *zeroes) Read(p []byte) (int, error) {
	n, err := z.r.Read(p)
	for i := range p[:n] {
		if p[i] == 0 {
			p[i] = ' '
		}
	}
	return n, err
}

// call runs a command and stores its result.
func (b *browser) call(t *testing.T, session, method string, params, result any) {
	t.Helper()
	answer := make(chan message, 1)
	b.mu.Lock()
	b.next++
	id := b.next
	b.done[id] = answer
	b.mu.Unlock()
	doc, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params, "sessionId": session})
	if err != nil {
		t.Fatal(err)
	}
	if session == "" {
		doc = bytes.Replace(doc, []byte(`,"sessionId":""`), nil, 1)
	}
	if _, err := b.in.Write(append(doc, 0)); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				t.Fatalf("%s: %v", method, err)
			}
		}
	case <-time.After(60 * time.Second):
		t.Fatalf("%s: no answer in a minute", method)
	}
}

// tab is an open page.
type tab struct {
	*browser
	t       *testing.T
	session string

	heard    sync.Mutex
	blocked  []string // why requests failed
	trouble  []string // exceptions, errors and warnings of the console
	requests []string // addresses that were asked for
}

// open opens a tab for a test.
func (b *browser) open(t *testing.T) *tab {
	t.Helper()
	var target struct{ TargetID string }
	b.call(t, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call(t, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p := &tab{browser: b, t: t, session: attached.SessionID}
	b.mu.Lock()
	b.hear[p.session] = p.event
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		p.do(domain+".enable", nil, nil)
	}
	p.window(1440, 900)
	return p
}

func (p *tab) do(method string, params, result any) {
	p.t.Helper()
	if params == nil {
		params = struct{}{}
	}
	p.call(p.t, p.session, method, params, result)
}

func (p *tab) event(m message) {
	p.heard.Lock()
	defer p.heard.Unlock()
	text := string(m.Params)
	switch m.Method {
	case "Runtime.exceptionThrown", "Log.entryAdded":
		p.trouble = append(p.trouble, text)
	case "Runtime.consoleAPICalled":
		if strings.Contains(text, `"type":"error"`) || strings.Contains(text, `"type":"warning"`) {
			p.trouble = append(p.trouble, text)
		}
	case "Network.loadingFailed":
		var r struct{ BlockedReason string }
		json.Unmarshal(m.Params, &r)
		p.blocked = append(p.blocked, r.BlockedReason)
	case "Network.requestWillBeSent":
		var r struct{ Request struct{ URL string } }
		json.Unmarshal(m.Params, &r)
		p.requests = append(p.requests, r.Request.URL)
	}
}

// quiet fails the test if the console has anything to complain about, or if anything but the page was asked for.
func (p *tab) quiet() {
	p.t.Helper()
	p.heard.Lock()
	defer p.heard.Unlock()
	for _, text := range p.trouble {
		p.t.Errorf("the console reports %s", text)
	}
	for _, url := range p.requests {
		if !strings.HasPrefix(url, "file://") {
			p.t.Errorf("the page asked for %s", url)
		}
	}
}

// window sets the size of the page.
func (p *tab) window(width, height int) {
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// scheme makes the page light or dark.
func (p *tab) scheme(name string) {
	p.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": name}}}, nil)
}

// load opens a file at a fragment and returns how long it took until the page could be used.
func (p *tab) load(file, fragment string) time.Duration {
	p.t.Helper()
	p.do("Page.navigate", map[string]any{"url": "about:blank"}, nil)
	start := time.Now()
	p.do("Page.navigate", map[string]any{"url": "file://" + file + fragment}, nil)
	p.wait(`document.body && document.body.dataset.ready === 'yes'`)
	return time.Since(start)
}

// eval returns the value of an expression.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	var r struct {
		Result  struct{ Value T }
		Details *struct {
			Exception struct{ Description string }
		} `json:"exceptionDetails"`
	}
	p.do("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if r.Details != nil {
		p.t.Fatalf("%s: %s", expression, r.Details.Exception.Description)
	}
	return r.Result.Value
}

// wait waits until an expression is true.
func (p *tab) wait(expression string) {
	p.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if eval[bool](p, "!!("+expression+")") {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("never true: %s", expression)
		}
	}
}

// frame waits until the page has been drawn.
func (p *tab) frame() {
	p.t.Helper()
	eval[bool](p, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
}

// click clicks the middle of the first element of a selector whose text contains a text.
func (p *tab) click(selector, text string) {
	p.t.Helper()
	at := eval[[]float64](p, fmt.Sprintf(`(() => {
		const e = [...document.querySelectorAll(%q)].find(e => e.textContent.includes(%q));
		if (!e) return null;
		e.scrollIntoView({block: 'center', inline: 'center'});
		const r = e.getClientRects()[0];
		return [r.left + Math.min(r.width, 60) / 2, r.top + r.height / 2];
	})()`, selector, text))
	if at == nil {
		p.t.Fatalf("no %s has the text %s", selector, text)
	}
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		p.do("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1}, nil)
	}
	p.frame()
}

// key presses a key, such as j, / or Escape.
func (p *tab) key(name string) {
	p.t.Helper()
	down := map[string]any{"type": "keyDown", "key": name}
	if len(name) == 1 {
		down["text"] = name
	}
	p.do("Input.dispatchKeyEvent", down, nil)
	p.do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": name}, nil)
	p.frame()
}

// shot writes a picture of the page.
func (p *tab) shot(path string) {
	p.t.Helper()
	p.frame()
	var r struct{ Data string }
	p.do("Page.captureScreenshot", map[string]any{"format": "png"}, &r)
	data, err := base64.StdEncoding.DecodeString(r.Data)
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}
