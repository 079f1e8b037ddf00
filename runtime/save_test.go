package runtime

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// saved returns a toy session with a sequence, and what Save writes.
func saved(t testing.TB, n int) (*Session, []byte) {
	t.Helper()
	_, s := openProgram(t, toySessions(2, nil), Options{Threads: 1})
	if n > 0 {
		if _, err := s.Prefill(t.Context(), prompt(n)); err != nil {
			t.Fatal(err)
		}
	}
	return s, save(t, s)
}

func save(t testing.TB, s *Session) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Save(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSavedSequencesContinue loads sequences of all lengths into a new model, as a session of its own and as one of
// several.
func TestSavedSequencesContinue(t *testing.T) {
	for n := range toyContext {
		_, data := saved(t, n)
		_, alone := openProgram(t, toySessions(2, nil), Options{Threads: 1})
		g := openSessions(t, 2, nil)
		first, second := seatOf(t, g), seatOf(t, g)
		if _, err := first.Prefill(t.Context(), prompt(3)); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Session{alone, second} {
			r := bytes.NewReader(append(data[:len(data):len(data)], "more"...))
			if err := s.Load(iotest.OneByteReader(r)); err != nil || s.Len() != n || r.Len() != 4 {
				t.Fatalf("%d positions: %v, length %d, %d bytes are left", n, err, s.Len(), r.Len())
			}
			got, err := s.Decode(t.Context(), 7)
			if want := toyWant(append(prompt(n), 7)); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%d positions: %v, %v, want %v", n, err, got, want)
			}
		}
		if got, err := first.Decode(t.Context(), 7); err != nil || !slices.Equal(got, toyWant(append(prompt(3), 7))) {
			t.Fatalf("the other session: %v", err)
		}
	}
}

// TestSavedPendingTokens: the token that was generated last is part of the sequence.
func TestSavedPendingTokens(t *testing.T) {
	s, _ := saved(t, 5)
	more := func(s *Session, n int) (ids []int32) {
		for token, err := range s.GenerateTokens(t.Context(), []int32{9}, GenerateOptions{MaxTokens: n}) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, token.ID)
		}
		return ids
	}
	more(s, 3)
	data := save(t, s)
	want := more(s, 6)
	again, _ := saved(t, 0)
	if err := again.Load(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	if got := more(again, 6); !slices.Equal(got, want) {
		t.Errorf("%v, the session that was saved generates %v", got, want)
	}
}

// TestDamagedSequencesAreRefused flips each byte, cuts at each length, and uses other programs.
func TestDamagedSequencesAreRefused(t *testing.T) {
	_, data := saved(t, 20)
	s, _ := saved(t, 4)
	refused := func(what string, b []byte, keeps bool) {
		t.Helper()
		if s.Len() == 0 {
			if _, err := s.Prefill(t.Context(), prompt(4)); err != nil {
				t.Fatal(err)
			}
		}
		err := s.Load(bytes.NewReader(b))
		var e *SavedError
		if !errors.Is(err, ErrSaved) || !errors.As(err, &e) || e.Why == "" {
			t.Fatalf("%s: error %v", what, err)
		}
		if want := 4; keeps && s.Len() != want || !keeps && s.Len() != 0 {
			t.Fatalf("%s: length %d afterwards", what, s.Len())
		}
	}
	head := savedHead + 4*20
	for i := range data {
		b := bytes.Clone(data)
		b[i] ^= 0x40
		refused("a flipped bit", b, i < head)
		refused("a cut", data[:i], i < head)
	}
}

// TestForeignSequencesAreRefused names what does not fit.
func TestForeignSequencesAreRefused(t *testing.T) {
	_, data := saved(t, 20)
	for _, c := range []struct {
		name   string
		change func(p *Program)
		r      io.Reader
		want   string
	}{
		{"another plan", func(p *Program) { p.PlanID = "ffff" }, nil, `it was saved by a program with plan "0123456789abcdef", and this one has plan "ffff": use`},
		{"other weights", otherWeights, nil, "it was saved with weights of hash"},
		{"another format", nil, bytes.NewReader(append([]byte("ggmlcsq\x01"), data[8:]...)), "version 1 of the format, this program reads version 2"},
		{"a text", nil, strings.NewReader(strings.Repeat("once upon a time ", 20)), "it does not begin as one does"},
		{"nothing", nil, strings.NewReader(""), "it was cut off"},
		{"a reader that fails", nil, iotest.ErrReader(io.ErrClosedPipe), "it cannot be read: io: read/write on closed pipe"},
	} {
		p := toySessions(2, nil)
		if c.change != nil {
			c.change(p)
			c.r = bytes.NewReader(data)
		}
		_, s := openProgram(t, p, Options{Threads: 1})
		if err := s.Load(c.r); !errors.Is(err, ErrSaved) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// otherWeights gives a program weights of the same size.
func otherWeights(p *Program) {
	w := strings.Repeat("w", toyVocab)
	sum := sha256.Sum256([]byte(w))
	p.Weights.Embedded, p.Weights.SHA256 = w, hex.EncodeToString(sum[:])
}

// TestSaveRefusesWhatItCannotSave has sequences whose bytes or tokens are not known.
func TestSaveRefusesWhatItCannotSave(t *testing.T) {
	s, _ := saved(t, 5)
	if err := s.Run(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(io.Discard); !errors.Is(err, ErrInput) {
		t.Errorf("after a raw call: %v", err)
	}
	p := toySessions(2, nil)
	p.States = nil
	_, s = openProgram(t, p, Options{Threads: 1})
	if err := s.Save(io.Discard); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "no states") {
		t.Errorf("without states: %v", err)
	}
	closed := seatOf(t, openSessions(t, 1, nil))
	closed.Close()
	if err := closed.Save(io.Discard); !errors.Is(err, ErrInput) {
		t.Errorf("a closed session: %v", err)
	}
	s, _ = saved(t, 5)
	if err := s.Save(failing{}); !errors.Is(err, io.ErrShortBuffer) || s.Len() != 5 {
		t.Errorf("a writer that fails: %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortBuffer }

// FuzzLoad: no bytes make Load panic, and what it accepts is as Save writes it.
func FuzzLoad(f *testing.F) {
	for _, n := range []int{0, 1, 20} {
		_, data := saved(f, n)
		f.Add(data)
	}
	s, _ := saved(f, 0)
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := s.Load(bytes.NewReader(data)); err != nil {
			if !errors.Is(err, ErrSaved) {
				t.Fatal(err)
			}
			return
		}
		if again := save(t, s); !bytes.HasPrefix(data, again) {
			t.Error("a loaded sequence is saved as other bytes")
		}
	})
}
