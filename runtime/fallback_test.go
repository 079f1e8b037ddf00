package runtime

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

// absent is a Loader without devices.
type absent struct{ err error }

func (a absent) Open(*DeviceInfo, int, *Supervisor) (Device, error) { return nil, a.err }

// planned returns a toy program whose plan has that name.
func planned(p *Program, name string) *Program {
	p.PlanText, p.PlanJSON = "split 0 @"+name+"\n", `{"splits": 1, "on": "`+name+`"}`
	return p
}

// withDevice returns a program that cannot open its device, and runs another one then.
func withDevice(p, fallback *Program, err error) *Program {
	p.Devices = NewDevices(Layout{Devices: []DeviceInfo{{Name: "gpu0", Loader: absent{err}}}})
	p.Fallback = fallback
	return p
}

func TestFallbackRunsWhereDevicesCannotBeOpened(t *testing.T) {
	p := withDevice(toyProgram(), toyProgram(), errors.New("there is no driver: install one"))
	want := `{"level":"note","code":"runs-on","message":"runs on the processor alone, by the plan of --fallback: gpu0: there is no driver: install one"}` + "\n"
	status, out, errs := invoke(p, "--tokens", "1", "-n", "3", "--json")
	plain, wantOut, _ := invoke(toyProgram(), "--tokens", "1", "-n", "3", "--json")
	if status != 0 || plain != 0 || !strings.HasPrefix(errs, want) {
		t.Errorf("status %d, %s", status, errs)
	}
	got, _, _ := strings.Cut(out, `{"summary"`)
	if wantTokens, _, _ := strings.Cut(wantOut, `{"summary"`); got != wantTokens {
		t.Errorf("%s, want %s", got, wantTokens)
	}
	p.Fallback = nil
	if status, _, errs := invoke(p, "--tokens", "1", "-n", "3"); status != exitFailed || errs != "toy: gpu0: there is no driver: install one\n" {
		t.Errorf("without fallback: status %d, %s", status, errs)
	}
}

// TestFallbackIsForDevicesOnly has errors that a fallback would not mend, or would hide.
func TestFallbackIsForDevicesOnly(t *testing.T) {
	wrongWeights := external(toyProgram())
	file := write(t, []byte("no weights"))
	for _, c := range []struct {
		name string
		p    *Program
		args []string
		want string
	}{
		{"weights", withDevice(wrongWeights, toyProgram(), nil), []string{"--weights", file}, "too short to carry weights"},
		{"gone", withDevice(toyProgram(), toyProgram(), &WeightsError{File: "w", Why: "a page is gone"}), nil, "a page is gone"},
	} {
		status, _, errs := invoke(c.p, append([]string{"--tokens", "1", "-n", "1"}, c.args...)...)
		if status != exitFailed || !strings.Contains(errs, c.want) || strings.Contains(errs, "fallback") {
			t.Errorf("%s: status %d, %s", c.name, status, errs)
		}
	}
}

func TestPlanShowsTheFallback(t *testing.T) {
	p := withDevice(planned(toyProgram(), "gpu"), planned(toyProgram(), "cpu"), nil)
	if status, out, errs := invoke(p, "plan"); status != 0 || out != "split 0 @gpu\n\nfallback\nsplit 0 @cpu\n" {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	_, out, _ := invoke(p, "plan", "--json")
	var doc struct {
		On       string
		Fallback struct{ On string }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || doc.On != "gpu" || doc.Fallback.On != "cpu" {
		t.Errorf("%v, %+v: %s", err, doc, out)
	}
}

// TestFileWithTwoWeights has the weights of a program after those of its fallback.
func TestFileWithTwoWeights(t *testing.T) {
	p, fallback := external(toyProgram()), external(toyProgram())
	fallback.PlanID = "fedcba9876543210"
	b := weightsFile(fallback, 0)
	before := int64(len(b))
	offset := (before + WeightsBoundary - 1) / WeightsBoundary * WeightsBoundary
	b = append(b, make([]byte, offset-before)...)
	b = append(b, toyWeights()...)
	end, err := ReadTrailer(strings.NewReader(string(b[:before])), before)
	if err != nil {
		t.Fatal(err)
	}
	end.Offset, end.Before, end.PlanID = offset, before, p.PlanID
	file := write(t, AppendTrailer(b, end))
	for _, x := range []*Program{p, fallback} {
		w, err := openWeights(x, Options{Weights: file, Verify: true})
		if err != nil {
			t.Fatal(err)
		}
		if string(w.bytes) != string(toyWeights()) {
			t.Errorf("plan %s: wrong weights", x.PlanID)
		}
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}
	other := external(toyProgram())
	other.PlanID = "0000000000000000"
	if _, err := openWeights(other, Options{Weights: file}); !errors.Is(err, ErrWeights) || !strings.Contains(err.Error(), "packed for plan") {
		t.Errorf("another program: %v", err)
	}
	end.Before = offset + 1
	if err := os.WriteFile(file, AppendTrailer(b, end), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openWeights(fallback, Options{Weights: file}); err == nil || !strings.Contains(err.Error(), "other weights should end at 65537, before those at 65536") {
		t.Errorf("impossible trailer: %v", err)
	}
}
