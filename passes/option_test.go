package passes

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"
)

func TestParseDebugReportsWhatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []pass.Setting
		err  string
	}{
		{"", nil, ""},
		{"check=all", []pass.Setting{{Pass: "all", Flag: "check", Value: "all"}}, ""},
		{"all/fuel=113,fold/limit=8", []pass.Setting{{Pass: "all", Flag: "fuel", Value: "113"}, {Pass: "fold", Flag: "limit", Value: "8"}}, ""},
		{"all/stats", []pass.Setting{{Pass: "all", Flag: "stats", Value: "true"}}, ""},
		{"all/fuel=x", nil, "a whole number is wanted"},
		{"fold/size=1", nil, "there is no such flag"},
		{"melt/limit=1", nil, "there is no pass melt"},
		{"cse/limit=1", nil, "the pass cse has no flags"},
		{"all/stats=maybe,melt/x", nil, "true or false is wanted"},
	} {
		got, err := ParseDebug(tt.text)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: error %v, want %q", tt.text, err, tt.err)
			}
			continue
		}
		if err != nil || len(got) != len(tt.want) {
			t.Errorf("%q: %v, %v", tt.text, got, err)
			continue
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%q: %v, want %v", tt.text, got[i], tt.want[i])
			}
		}
	}
}

func TestDebugHelpListsAll(t *testing.T) {
	help := DebugHelp()
	for _, want := range []string{"all/fuel=int64", "fold/limit=int64", "split/cut-weights=bool"} {
		if !strings.Contains(help, want) {
			t.Errorf("no %q in:\n%s", want, help)
		}
	}
}

func TestParsePinReadsItsText(t *testing.T) {
	p, err := pass.ParsePin(`blk\.[0-3]=x=gpu0`)
	if err != nil || p.Backend != "gpu0" || p.String() != `blk\.[0-3]=x=gpu0` {
		t.Errorf("%v, %v", p, err)
	}
	for _, text := range []string{"", "gpu0", "=gpu0", "x=", "(=gpu0"} {
		if _, err := pass.ParsePin(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
