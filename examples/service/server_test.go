package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/ggmlc/ggmlc/examples/service/stories"
)

// reference is what the demo model's own tool generates at temperature 0.
type reference struct {
	Prompt string `json:"prompt"`
	Text   string `json:"text"`
}

func references(t *testing.T) []reference {
	t.Helper()
	data, err := os.ReadFile("../../cmd/ggmlc/demo/stories.greedy.json")
	if err != nil {
		t.Fatal(err)
	}
	var refs []reference
	if err := json.Unmarshal(data, &refs); err != nil {
		t.Fatal(err)
	}
	for i := range refs {
		if refs[i].Prompt == "" { // the first word brings the space before it
			refs[i].Text = " " + refs[i].Text
		}
	}
	return refs
}

// openModel opens the model for one test.
func openModel(t *testing.T) *stories.Model {
	t.Helper()
	m, err := stories.Open(stories.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// post sends a request and returns status, text and the trailer Error.
func post(t *testing.T, url string, body any) (status int, text, trailer string) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Error(err)
		return
	}
	resp, err := http.Post(url+"/generate", "application/json", bytes.NewReader(data))
	if err != nil {
		t.Error(err)
		return
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(got), resp.Trailer.Get("Error")
}

func TestGreedyTextIsTheModels(t *testing.T) {
	srv := httptest.NewServer(newServer(openModel(t), 1, nil))
	defer srv.Close()
	for _, r := range references(t) {
		status, text, trailer := post(t, srv.URL, request{Prompt: r.Prompt, MaxTokens: 64})
		if status != http.StatusOK || trailer != "" || text != r.Text {
			t.Errorf("%q: status %d, error %q\ngot  %q\nwant %q", r.Prompt, status, trailer, text, r.Text)
		}
	}
}

func TestConcurrentRequestsDoNotMix(t *testing.T) {
	refs := references(t)
	srv := httptest.NewServer(newServer(openModel(t), 2*len(refs), nil))
	defer srv.Close()
	var wg sync.WaitGroup
	for i := range 2 * len(refs) {
		wg.Go(func() {
			r := refs[i%len(refs)]
			if status, text, _ := post(t, srv.URL, request{Prompt: r.Prompt, MaxTokens: 64}); status != http.StatusOK || text != r.Text {
				t.Errorf("%q: status %d, %q", r.Prompt, status, text)
			}
		})
	}
	wg.Wait()
}

func TestSeedDecides(t *testing.T) {
	srv := httptest.NewServer(newServer(openModel(t), 1, nil))
	defer srv.Close()
	ask := func(seed uint64) string {
		_, text, _ := post(t, srv.URL, request{Prompt: "One day", MaxTokens: 40, Temperature: 1, Seed: seed})
		return text
	}
	if a, b := ask(1), ask(1); a != b {
		t.Errorf("one seed, two texts:\n%s\n%s", a, b)
	}
	if a, b := ask(1), ask(2); a == b {
		t.Errorf("two seeds, one text: %s", a)
	}
}

// TestTrailersSayWhatWasDone: the seed in a trailer makes the text again, a stop string ends it, and tokens are
// counted.
func TestTrailersSayWhatWasDone(t *testing.T) {
	srv := httptest.NewServer(newServer(openModel(t), 1, nil))
	defer srv.Close()
	ask := func(body string) (string, http.Header) {
		resp, err := http.Post(srv.URL+"/generate", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text), resp.Trailer
	}
	first, trailer := ask(`{"prompt":"One day","max_tokens":30,"temperature":1}`)
	if trailer.Get("Finish") != "length" || !strings.HasSuffix(trailer.Get("Usage"), " generated=30") {
		t.Errorf("trailers %v", trailer)
	}
	if again, _ := ask(`{"prompt":"One day","max_tokens":30,"temperature":1,"seed":` + trailer.Get("Seed") + `}`); again != first {
		t.Errorf("seed %s: %q, first %q", trailer.Get("Seed"), again, first)
	}
	if text, trailer := ask(`{"prompt":"Once upon a time","stop":["."]}`); trailer.Get("Finish") != "stop" || strings.Contains(text, ".") || text == "" {
		t.Errorf("%q, trailers %v", text, trailer)
	}
}

func TestMetrics(t *testing.T) {
	c := &counts{}
	m, err := stories.Open(stories.Options{Metrics: c})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	srv := httptest.NewServer(newServer(m, 1, c))
	defer srv.Close()
	post(t, srv.URL, request{Prompt: "One day", MaxTokens: 7})
	post(t, srv.URL, request{Prompt: strings.Repeat("One day. ", 200)}) // longer than the context
	resp, err := http.Get(srv.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"generated_tokens_total 7\n", "failed_steps_total 0\n", "generations_total{finish=\"context\"} 1\ngenerations_total{finish=\"length\"} 1\n"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestMoreRequestsThanSessions(t *testing.T) {
	s := &server{model: openModel(t), slots: make(chan struct{}, 1)}
	s.slots <- struct{}{} // someone is being answered
	w := httptest.NewRecorder()
	s.generate(w, httptest.NewRequest("POST", "/generate", strings.NewReader(`{"prompt":"One day"}`)))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("status %d, %v", w.Code, w.Header())
	}
	<-s.slots
	w = httptest.NewRecorder()
	s.generate(w, httptest.NewRequest("POST", "/generate", strings.NewReader(`{"prompt":"One day","max_tokens":2}`)))
	if w.Code != http.StatusOK || len(s.slots) != 0 {
		t.Errorf("status %d, %d sessions in use", w.Code, len(s.slots))
	}
}

// leaving is a client that goes away after some tokens.
type leaving struct {
	http.ResponseWriter
	left   int
	cancel func()
	writes int
}

func (l *leaving) Write(b []byte) (int, error) {
	l.writes++
	if l.left--; l.left == 0 {
		l.cancel()
	}
	return l.ResponseWriter.Write(b)
}

func (l *leaving) Unwrap() http.ResponseWriter { return l.ResponseWriter }

func TestAClientThatLeavesStopsTheModel(t *testing.T) {
	s := &server{model: openModel(t), slots: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const tokens = 5
	w := &leaving{ResponseWriter: httptest.NewRecorder(), left: tokens, cancel: cancel}
	r := httptest.NewRequest("POST", "/generate", strings.NewReader(`{"prompt":"Once upon a time"}`)).WithContext(ctx)
	s.generate(w, r)
	if w.writes > tokens+1 {
		t.Errorf("%d tokens were made for a client that left after %d", w.writes, tokens)
	}
	if len(s.slots) != 0 {
		t.Error("the session is still in use")
	}
}

func TestBadRequests(t *testing.T) {
	srv := httptest.NewServer(newServer(openModel(t), 1, nil))
	defer srv.Close()
	for body, want := range map[string]int{
		`{`:                                 http.StatusBadRequest,
		`{"promt":"One day"}`:               http.StatusBadRequest,
		`{"prompt":1}`:                      http.StatusBadRequest,
		`{"prompt":"x","temperature":-1}`:   http.StatusBadRequest,
		strings.Repeat(" ", maxBody) + `{}`: http.StatusBadRequest,
		`{"prompt":"` + strings.Repeat("One day. ", 200) + `"}`: http.StatusRequestEntityTooLarge, // than the context
	} {
		resp, err := http.Post(srv.URL+"/generate", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%.40q: status %d, want %d", body, resp.StatusCode, want)
		}
	}
	resp, err := http.Get(srv.URL + "/generate")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: status %d", resp.StatusCode)
	}
}
