package token

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The ids of the test vocabulary: three special tokens, all bytes, then pieces.
const (
	unkID, bosID, eosID = 0, 1, 2
	byteID              = 3
	pieceID             = byteID + 256
)

// pieces are the tokens after the bytes. Their scores fall, so that later ones are joined later.
var pieces = []string{
	space, "a", "b", "c", space + "a", "ab", "bc", "abc", "é", "<", "s", ">", "<s", // normal
	"<user>", "<use", "xab", "abcd", // user-defined
	"<|ctl|>", "unused", // control, unused
}

// id returns the id of a piece.
func id(piece string) int32 { return int32(pieceID + slices.Index(pieces, piece)) }

// testTable is the test vocabulary.
func testTable() *Table {
	t := &Table{
		Tokens: []string{"<unk>", "<s>", "</s>"}, Types: []Type{Unknown, Control, Control},
		BOS: bosID, EOS: eosID, UNK: unkID, EOG: []int32{eosID}, AddBOS: true, AddSpace: true,
	}
	for b := range 256 {
		t.Tokens = append(t.Tokens, fmt.Sprintf("<0x%02X>", b))
		t.Types = append(t.Types, Byte)
	}
	for _, p := range pieces {
		t.Tokens = append(t.Tokens, p)
		t.Types = append(t.Types, Normal)
	}
	for _, p := range []string{"<user>", "<use", "xab", "abcd"} {
		t.Types[id(p)] = UserDefined
	}
	t.Types[id("<|ctl|>")], t.Types[id("unused")] = Control, Unused
	for i := range t.Tokens {
		t.Scores = append(t.Scores, -float32(i))
	}
	return t
}

// load encodes and loads a table.
func load(t testing.TB, table *Table) *Vocab {
	t.Helper()
	b, err := table.Encode()
	if err != nil {
		t.Fatal(err)
	}
	v, err := Load(string(b))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestEncodeGivesTheExpectedTokens(t *testing.T) {
	bytesOf := func(s string) (ids []int32) {
		for _, b := range []byte(s) {
			ids = append(ids, byteID+int32(b))
		}
		return ids
	}
	cat := func(parts ...any) (ids []int32) {
		for _, p := range parts {
			switch p := p.(type) {
			case string:
				ids = append(ids, id(p))
			case int:
				ids = append(ids, int32(p))
			case []int32:
				ids = append(ids, p...)
			}
		}
		return ids
	}
	tests := []struct {
		name, text string
		o          Options
		want       []int32
	}{
		{"nothing", "", Options{}, nil},
		{"only BOS", "", Options{Specials: true}, cat(bosID)},
		{"BOS", "a", Options{Specials: true}, cat(bosID, space+"a")},
		{"the best score first", "abc", Options{}, cat(space+"a", "bc")},
		{"a space of its own", "b", Options{}, cat(space, "b")},
		{"two spaces", "  a", Options{}, cat(space, space, space+"a")},
		{"bytes", "\u00fc", Options{}, cat(space, bytesOf("ü"))},
		{"not UTF-8", "\xff\xc3", Options{}, cat(space, bytesOf("\xff\xc3"))},
		{"a sequence cut off", "a\xe2\x96", Options{}, cat(space+"a", bytesOf("\xe2\x96"))},
		{"a sequence cut off before a space", "\xcc ", Options{}, cat(space, bytesOf("\xcc"), bytesOf(space))}, // as in llama.cpp
		{"a sequence cut off before a letter", "\xe2\x82bc", Options{}, cat(space, bytesOf("\xe2\x82b"), "c")},
		{"user-defined, always", "a<user>a", Options{}, cat(space+"a", "<user>", space+"a")},
		{"the longer one", "<user><use<us", Options{}, cat("<user>", "<use", space, "<", bytesOf("u"), "s")},
		{"longest first, not leftmost", "xabcd", Options{}, cat(space, bytesOf("x"), "abcd")},
		{"leftmost of one kind", "xabxab", Options{}, cat("xab", "xab")},
		{"control is text", "<s>", Options{}, cat(space, "<s", ">")},
		{"control parsed", "a<s>", Options{ParseSpecials: true}, cat(space+"a", bosID)},
		{"unknown parsed", "<unk>a", Options{ParseSpecials: true}, cat(unkID, space+"a")},
		{"control not parsed", "<|ctl|>", Options{}, cat(space, "<", bytesOf("|"), "c", bytesOf("tl|"), ">")},
		{"byte token is text", "<0x41>", Options{ParseSpecials: true}, cat(space, "<", bytesOf("0x41"), ">")},
	}
	v := load(t, testTable())
	for _, tt := range tests {
		if got := v.Encode(nil, tt.text, tt.o); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q:\n got %v\nwant %v", tt.name, tt.text, got, tt.want)
		}
	}
	if got := v.Encode([]int32{9}, "a", Options{}); !slices.Equal(got, cat(9, space+"a")) {
		t.Errorf("not appended: %v", got)
	}
}

// TestFlagsAddSpaceAndSpecials expects before and after a text what the table's flags demand.
func TestFlagsAddSpaceAndSpecials(t *testing.T) {
	table := testTable()
	table.AddSpace, table.AddBOS, table.AddEOS = false, false, true
	v := load(t, table)
	if got := v.Encode(nil, "a", Options{Specials: true}); !slices.Equal(got, []int32{id("a"), eosID}) {
		t.Errorf("%v", got)
	}
	if got := v.Decode([]int32{id(space), id("a")}); got != " a" {
		t.Errorf("%q", got)
	}
}

// TestCharacterWithoutByteTokensIsUnknown has no byte tokens: a character becomes one unknown token, or the token
// whose text is the byte.
func TestCharacterWithoutByteTokensIsUnknown(t *testing.T) {
	v := load(t, &Table{Tokens: []string{"<unk>", "a", "ab"}, Scores: make([]float32, 3), Types: []Type{Unknown, Normal, Normal}, BOS: None, EOS: None})
	if got := v.Encode(nil, "é€a", Options{Specials: true}); !slices.Equal(got, []int32{0, 0, 1}) {
		t.Errorf("%v", got)
	}
	if got := v.Decode([]int32{0, 1, 0}); got != "a" {
		t.Errorf("%q", got)
	}
}

// TestTiesAreJoinedFromTheLeft has equal scores. Five letters are cut aa aa a, of which the last two make the better
// token.
func TestTiesAreJoinedFromTheLeft(t *testing.T) {
	tokens := []string{"a", "aa", "aaa", "aaaa"}
	v := load(t, &Table{Tokens: tokens, Scores: []float32{0, 1, 0, -1}, Types: []Type{1, 1, 1, 1}, BOS: None, EOS: None, UNK: None})
	for n, want := range [][]int32{{}, {0}, {1}, {2}, {3}, {1, 2}, {3, 1}, {3, 2}, {3, 3}} {
		if got := v.Encode(nil, strings.Repeat("a", n), Options{}); !slices.Equal(got, want) {
			t.Errorf("%d times a: %v, want %v", n, got, want)
		}
	}
}

func TestPiecesPrintSpacesAndBytes(t *testing.T) {
	v := load(t, testTable())
	tests := map[int32]string{
		unkID: "", bosID: "", id("<|ctl|>"): "", id("unused"): "", -1: "", 1 << 30: "",
		byteID + 0xe9: "\xe9", id(space + "a"): " a", id("<user>"): "<user>", id("é"): "é",
	}
	for id, want := range tests {
		if got := string(v.AppendPiece([]byte("x"), id)); got != "x"+want {
			t.Errorf("token %d prints %q, want %q", id, got, want)
		}
	}
}

// TestDecoderEndsPiecesBetweenCharacters decodes arbitrary bytes.
func TestDecoderEndsPiecesBetweenCharacters(t *testing.T) {
	v := load(t, testTable())
	tests := []struct {
		bytes string
		want  []string // after each byte, and at the end
	}{
		{"aé", []string{"a", "", "é", ""}},
		{"€", []string{"", "", "€", ""}},
		{"😀", []string{"", "", "", "😀", ""}},
		{"\xf0\x9f\x98", []string{"", "", "", "\xf0\x9f\x98"}},
		{"\xe2\x82a", []string{"", "", "\xe2\x82a", ""}},
		{"\x80\xff", []string{"\x80", "\xff", ""}},
		{"\xc3\xc3\xa9", []string{"", "\xc3", "é", ""}},
	}
	for _, tt := range tests {
		d := NewDecoder(v)
		for i := range len(tt.bytes) {
			if got := string(d.Append(nil, byteID+int32(tt.bytes[i]))); got != tt.want[i] {
				t.Errorf("%q: byte %d gives %q, want %q", tt.bytes, i, got, tt.want[i])
			}
		}
		if got := string(d.Flush(nil)); got != tt.want[len(tt.bytes)] {
			t.Errorf("%q: the end gives %q", tt.bytes, got)
		}
		if got := d.Flush(nil); len(got) != 0 {
			t.Errorf("%q: held after Flush: %q", tt.bytes, got)
		}
	}
}

func TestDecoderAllocatesNothing(t *testing.T) {
	v := load(t, testTable())
	d, buf := NewDecoder(v), make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		for id := range int32(v.Size()) {
			buf = d.Append(buf[:0], id)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestLookupFindsEveryTextOnce(t *testing.T) {
	table := testTable()
	table.Tokens[id("unused")] = "" // an empty text belongs to no token
	v := load(t, table)
	for i, s := range table.Tokens {
		want := int32(i)
		if s == "" {
			want = None
		}
		if got := v.Lookup(s); got != want || v.Text(int32(i)) != s || v.TypeOf(int32(i)) != table.Types[i] || v.score(int32(i)) != table.Scores[i] {
			t.Errorf("%q is %d, want %d", s, got, want)
		}
	}
	if got := v.Lookup("nowhere"); got != None {
		t.Errorf("found %d", got)
	}
}

func TestEncodeRefusesBadTables(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Table)
		want   string
	}{
		{"empty", func(t *Table) { *t = Table{BOS: None, EOS: None, UNK: None} }, "0 tokens"},
		{"scores", func(t *Table) { t.Scores = t.Scores[1:] }, "278 tokens, but 277 scores and 278 types"},
		{"types", func(t *Table) { t.Types = t.Types[1:] }, "277 types"},
		{"BOS", func(t *Table) { t.BOS = 278 }, "special token 278 is not among the 278 tokens"},
		{"EOG", func(t *Table) { t.EOG = []int32{-2} }, "special token -2"},
		{"no BOS", func(t *Table) { t.BOS = None }, "a token is to be added that the vocabulary lacks"},
		{"NaN", func(t *Table) { t.Scores[7] = float32(math.NaN()) }, "the score of token 7 is not a number"},
		{"type", func(t *Table) { t.Types[7] = 7 }, "token 7 has the unknown type 7"},
		{"long", func(t *Table) { t.Tokens[7] = strings.Repeat("x", MaxTokenBytes+1) }, "token 7 is 65537 bytes long"},
		{"twice", func(t *Table) { t.Tokens[7] = "ab" }, `tokens 7 and 264 have the same text "ab"`},
	}
	for _, tt := range tests {
		table := testTable()
		tt.change(table)
		if _, err := table.Encode(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		_, encoding := table.Encode()
		if err := table.Check(); err == nil || encoding == nil || err.Error() != encoding.Error() {
			t.Errorf("Check says %v, Encode %v", err, encoding)
		}
	}
}

// TestLoadRefusesDamagedTables damages a table in every way that Load must notice.
func TestLoadRefusesDamagedTables(t *testing.T) {
	b, err := testTable().Encode()
	if err != nil {
		t.Fatal(err)
	}
	good := string(b)
	n := len(testTable().Tokens)
	starts, slots := headerBytes, headerBytes+4*(n+1)+4*n
	bytes := slots + 4*1024
	put := func(at int, v uint32) string {
		return good[:at] + string(appendInts(nil, int32(v))) + good[at+4:]
	}
	full := []byte(good)
	for i := range 1024 {
		if full[slots+4*i] == 0 && full[slots+4*i+1] == 0 {
			full[slots+4*i] = 1
		}
	}
	tests := map[string]string{
		"empty": "", "short": good[:headerBytes-1], "cut": good[:len(good)-1], "longer": good + "x",
		"magic": "x" + good[1:], "algorithm": put(4, 99), "tokens": put(8, uint32(n+1)), "no tokens": put(8, 0),
		"BOS": put(16, uint32(n)), "EOS": put(20, 1<<31), "unknown": put(24, uint32(n)), "BOS wanted": put(16, ^uint32(0)),
		"slots": put(32, 1023), "no slots": put(32, 0), "texts": put(36, 1),
		"start": put(starts, 1<<31), "starts out of order": put(starts+4, 100), "last start": put(slots-4*n-4, 0),
		"slot": put(slots, uint32(n+1)), "no empty slot": string(full), "byte": put(bytes, uint32(n)),
		"special tokens with one text": strings.Replace(good, "abcd<|ctl|>", "<use<|ctl|>", 1),
	}
	for name, table := range tests {
		if _, err := Load(table); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestCollidingTextsDoNotSlowLookups has texts that collide under one seed.
func TestCollidingTextsDoNotSlowLookups(t *testing.T) {
	const size = 1 << 14 // slots for 8192 tokens
	table := &Table{BOS: None, EOS: None, UNK: None}
	for i := 0; len(table.Tokens) < 3*maxProbes; i++ {
		if s := fmt.Sprint(i); hash(0, s)&(size-1) == 0 {
			table.Tokens = append(table.Tokens, s)
		}
	}
	for i := 0; len(table.Tokens) < size/2; i++ {
		table.Tokens = append(table.Tokens, fmt.Sprint("x", i))
	}
	table.Scores, table.Types = make([]float32, len(table.Tokens)), make([]Type, len(table.Tokens))
	if v := load(t, table); v.seed == 0 {
		t.Error("the first seed was kept")
	}
}

// FuzzEncode checks that ids exist, that the text comes back, and that a Decoder gives the same as Decode, in pieces
// that are whole characters if the text is UTF-8.
func FuzzEncode(f *testing.F) {
	for _, s := range []string{"", "abc", " a  b", "<user>abcd<s>", "\xff\xe2\x96", "é😀", strings.Repeat("a", 300), "<0x41>", "xabcd"} {
		f.Add(s)
	}
	table := testTable()
	v := load(f, table)
	table.AddSpace = false
	bare := load(f, table)
	f.Fuzz(func(t *testing.T, text string) {
		for _, id := range v.Encode(nil, text, Options{ParseSpecials: true, Specials: true}) {
			if !v.Valid(id) {
				t.Fatalf("%d is no token", id)
			}
		}
		ids := bare.Encode(nil, text, Options{})
		if slices.Contains(ids, bosID) || slices.Contains(ids, unkID) {
			t.Errorf("%q became %v", text, ids)
		}
		if strings.Contains(text, space) || strings.Contains(text, "unused") {
			return // becomes a real space, or is lost
		}
		spaces := func(s string) string { return s }
		if !utf8.ValidString(text) { // a character that is cut off may include an escaped space
			spaces = func(s string) string { return strings.ReplaceAll(s, space, " ") }
		}
		if back := bare.Decode(ids); spaces(back) != spaces(text) {
			t.Errorf("%q became %v, then %q", text, ids, back)
		}
		d, whole := NewDecoder(bare), ""
		for _, id := range ids {
			piece := string(d.Append(nil, id))
			if utf8.ValidString(text) && !utf8.ValidString(piece) {
				t.Errorf("%q: the piece %q is no text", text, piece)
			}
			whole += piece
		}
		if whole += string(d.Flush(nil)); spaces(whole) != spaces(text) {
			t.Errorf("%q streamed as %q", text, whole)
		}
	})
}

// FuzzLoad checks that any table that Load accepts can be used without a panic.
func FuzzLoad(f *testing.F) {
	b, err := testTable().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(b))
	small, err := (&Table{Tokens: []string{"a", "<0x00>"}, Scores: []float32{0, 0}, Types: []Type{UserDefined, Byte}, BOS: 0, EOS: None, UNK: None, AddBOS: true}).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(small))
	for _, table := range []*Table{bpeTable("a b", "b c", "ab c", "x Q"), wpmTable(), ugmTable()} {
		b, err := table.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, table string) {
		v, err := Load(table)
		if err != nil {
			return
		}
		ids := v.Encode(nil, "abc <user> \xff<|ctl|> xabcd", Options{Specials: true, ParseSpecials: true})
		d := NewDecoder(v)
		for _, id := range ids {
			d.Append(nil, id)
			v.IsEOG(id)
		}
		v.Decode(ids)
	})
}
