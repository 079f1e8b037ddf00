package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/ggmlc/ggmlc/examples/service/stories"
)

// Limits of a request.
const (
	maxBody   = 64 << 10 // bytes
	maxTokens = 200
)

// server answers requests with one session each.
type server struct {
	model *stories.Model
	slots chan struct{} // one for each session that may exist: memory is bounded by it
}

// newServer returns the handler of
//
//	POST /generate   {"prompt": "…", "max_tokens": 50, "temperature": 0.8, "seed": 1}
//	GET  /healthz
//	GET  /metrics    what the model has done, as Prometheus reads it
//
// The answer of generate is text as it is made. Trailers follow it: Finish is why it ended, Seed is what makes the same
// text again, Usage is the numbers of tokens of the prompt and of the text, and Error is an error after the first byte.
func newServer(model *stories.Model, sessions int, done *counts) http.Handler {
	s := &server{model: model, slots: make(chan struct{}, sessions)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /generate", s.generate)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.Handle("GET /metrics", done)
	return mux
}

// request is the body of generate. Temperature 0 is greedy, seed 0 another one each time.
type request struct {
	Prompt      string   `json:"prompt"`
	MaxTokens   int      `json:"max_tokens"`
	Temperature float32  `json:"temperature"`
	Seed        uint64   `json:"seed"`
	Stop        []string `json:"stop"`
}

func (s *server) generate(w http.ResponseWriter, r *http.Request) {
	var q request
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		http.Error(w, "the body is no request: "+err.Error(), http.StatusBadRequest)
		return
	}
	if q.MaxTokens <= 0 || q.MaxTokens > maxTokens {
		q.MaxTokens = maxTokens
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "all sessions are in use: try again", http.StatusServiceUnavailable)
		return
	}
	session, err := s.model.NewSession()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	stream(r.Context(), w, session, q)
}

// stream writes tokens as they are made. The request's context ends with the connection, so
// a client that goes away stops the generation.
func stream(ctx context.Context, w http.ResponseWriter, session *stories.Session, q request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Trailer", "Error, Finish, Seed, Usage")
	defer trail(w, session)
	out := http.NewResponseController(w)
	started := false
	for token, err := range session.Generate(ctx, q.Prompt, options(q)) {
		if started && errors.Is(err, stories.ErrContextFull) {
			return // the text ends where the model's memory does
		}
		switch {
		case err == nil:
		case started:
			w.Header().Set("Error", err.Error()) // the trailer
			return
		default:
			fail(w, err)
			return
		}
		started = true
		if _, err := w.Write([]byte(token.Text)); err != nil {
			return // the client is gone
		}
		if err := out.Flush(); err != nil {
			return
		}
	}
}

// trail writes what was done after the text.
func trail(w http.ResponseWriter, session *stories.Session) {
	if w.Header().Get("Trailer") == "" {
		return // the answer is an error
	}
	done := session.Summary()
	w.Header().Set("Finish", string(done.Finish))
	w.Header().Set("Seed", strconv.FormatUint(done.Seed, 10))
	w.Header().Set("Usage", fmt.Sprintf("prompt=%d generated=%d", done.PromptTokens, done.Generated))
}

func options(q request) stories.GenerateOptions {
	return stories.GenerateOptions{MaxTokens: q.MaxTokens, Stop: q.Stop, Sampling: stories.Sampling{Temperature: q.Temperature, Seed: q.Seed}}
}

// fail answers with the status of an error.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, stories.ErrContextFull):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, stories.ErrInput):
		status = http.StatusBadRequest
	}
	w.Header().Del("Trailer")
	http.Error(w, err.Error(), status)
}
