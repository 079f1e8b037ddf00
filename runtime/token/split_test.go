package token

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
)

// TestClassesAreThoseOfLlamaCpp compares a hash of the classes of all characters with one of llama.cpp's tables
// (unicode-data.cpp of August 2026, Unicode 15.1). If a new Go has newer tables, addedClass has to hide them.
func TestClassesAreThoseOfLlamaCpp(t *testing.T) {
	h := uint32(2166136261)
	for r := rune(0); r <= unicode.MaxRune; r++ {
		h = (h ^ uint32(classOf(r))) * 16777619
	}
	if h != 0xf4dfbff5 {
		t.Errorf("0x%08x with Unicode %s", h, unicode.Version)
	}
}

// words returns the words of a text, separated by |.
func splitWords(s Split, text string) string {
	chars := appendChars(nil, text)
	ends, _ := apply(splits[s], chars, nil, nil)
	var list []string
	start := 0
	for _, end := range ends {
		n := charBytes(chars[start:end])
		list = append(list, text[:n])
		text, start = text[n:], end
	}
	return strings.Join(list, "|")
}

// TestWordsOfEachSplit has the words that llama.cpp's expressions give.
func TestWordsOfEachSplit(t *testing.T) {
	tests := []struct {
		split      Split
		text, want string
	}{
		{SplitGPT2, "it's 12 dogs,  no 'S\n\n x ", "it|'s| 12| dogs|,| | no| '|S|\n\n| x| "},
		{SplitGPT2, "x²½ é\u0301", "x|²½| é|\u0301"},
		{SplitLlama3, "it'S 12345\n\n  a... \r\nb", "it|'S| |123|45|\n\n| | a|...| \r\n|b"},
		{SplitLlama3, "(foo) _bar\t\tx", "(foo|)| _|bar|\t|\tx"},
		{SplitQwen2, "12 ab\n \n c", "1|2| ab|\n \n| c"},
		{SplitQwen35, "e\u0301 \u0301!\u0301", "e\u0301| \u0301|!\u0301"},
		{SplitStarCoder, "a12 b", "a|1|2| b"},
		{SplitFalcon, "a+b 1234", "a|+|b| |123|4"},
		{SplitDefault, "a+b`1234", "a|+|b|`|123|4"},
		{SplitJais2, strings.Repeat(" ", 5) + "a", "    | a"},
		{SplitJais2, strings.Repeat(" ", 7), "    |  | "},
		{SplitDeepSeekLLM, " ab。12中文  ", " ab|。|12|中文|  "},
		{SplitDeepSeekLLM, "a\r\nb", "a|\r|\n|b"},
		{SplitDeepSeekCoder, " x.12", " x|.|1|2"},
		{SplitDeepSeek3, "1234 .foo～~ ~bar,\n", "123|4| .|foo|～~| ~|bar|,\n"},
		{SplitYoutu, "한글…abc's 1", "한글|…|abc's| |1"},
		{SplitBloom, "a b.c (d", "a| b|.|c| (|d"},
		{SplitViking, "a12", "a|1|2"},
		{SplitTekken, "fooBar HTTPServer ABC/", "foo|Bar| HTTPServer| ABC|/"},
		{SplitGPT4o, "I'll DON'T 1234/\n", "I'll| DON'T| |123|4|/\n"},
		{SplitGraniteEmbed, "e\u0301E\u0301", "e\u0301|E\u0301"},
		{SplitTinyAya, "x 1234567", "x| |1|234|567"},
		{SplitKimi, "中文abc's 1234", "中文|abc's| |123|4"},
		{SplitSuperBPE, "a1234567b12", "a|1|234|567|b|12"},
		{SplitBailing, "a\n\nb", "a|\n\n|b"},
		{SplitSeedCoder, "a.\n", "a|.|\n"},
		{SplitAfmoe, "ab1234ไเx", "ab|1|234|ไเ|x"},
		{SplitLaguna, "a \n b", "a| |\n| b"},
		{SplitExaoneMoE, "ab cd  ef.\n\n", "ab cd| | ef|.\n|\n"},
		{SplitLines, "a b\n\nc", "a b|\n\n|c"},
		{SplitMiniCPM5, "1234a", "123|4|a"},
		{SplitChameleon, "<sentinel:12>IMGIMGABZ    x!", "<|sentinel|:|1|2|>|IMGIMGABZ|    |x|!"},
		{SplitUfakzeka, "Ankara'da it's 12", "Ankara|'da| it|'s| |1|2"},
		{SplitSpark, "1234 .foo～~ ~bar,\n \n\n x\r\ne\u0301 かな字y", "1|2|3|4| .|foo|～~| ~|bar|,|\n| \n\n| x|\r|\n|e\u0301| |かな字|y"},
		{SplitGPT2, "a \xed\xa0\x80\xed\xb0\x80b", "a| \xed\xa0\x80\xed\xb0\x80|b"},
		{SplitLlama3, "a\xed\xa0\x80b", "a|\xed\xa0\x80b"},
		{SplitBlanks, "ab  c", "ab|  |c"},
	}
	covered := make([]bool, numSplits)
	for _, tt := range tests {
		covered[tt.split] = true
		if got := splitWords(tt.split, tt.text); got != tt.want {
			t.Errorf("split %d of %q:\n got %q\nwant %q", tt.split, tt.text, got, tt.want)
		}
	}
	if i := slices.Index(covered, false); i >= 0 {
		t.Errorf("no test of split %d", i)
	}
}

// longUnits are units whose repetition makes expressions search far.
var longUnits = []string{"a", "A", " ", "\u0301", "1", "'", "\n", " \n", "Aa中", "a b ", "中A", "~", "<sentinel:", "IMG", "  x", "\t", "\xff", "́ "}

// TestSplitsTakeLinearTime splits long texts in every way, and a megabyte in some. The time of a text 200 times as long
// may be 1,000 times as long on a busy machine. It would be 40,000 times as long if it grew with the square.
func TestSplitsTakeLinearTime(t *testing.T) {
	for s := range numSplits {
		n := 1 << 15
		if s == SplitLlama3 || s == SplitJais2 {
			n = 1 << 20
		}
		if testing.Short() {
			n = 1 << 14
		}
		for _, unit := range longUnits {
			text := strings.Repeat(unit, n/len(unit))
			small := splitTime(s, text[:len(text)/200/len(unit)*len(unit)])
			slow := func(full time.Duration) bool { return full > 1000*small && full > 300*time.Millisecond }
			full := splitTime(s, text)
			for range 4 { // other processes may have taken the time
				if slow(full) {
					full = min(full, splitTime(s, text))
				}
			}
			if slow(full) {
				t.Errorf("split %d: %d bytes of %q take %v, a part of 200 %v", s, len(text), unit, full, small)
			}
		}
	}
}

// splitTime returns how long a split takes.
func splitTime(s Split, text string) time.Duration {
	chars := appendChars(nil, text)
	start := time.Now()
	apply(splits[s], chars, nil, nil)
	return max(time.Since(start), time.Microsecond)
}
