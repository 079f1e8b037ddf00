package gpu

import (
	"slices"
	"testing"
	"time"
)

// at returns times, in microseconds since some beginning.
func at(micros ...int) (list []time.Time) {
	for _, n := range micros {
		list = append(list, time.UnixMicro(int64(n)))
	}
	return list
}

func TestTimesFitBetweenTheEntryBeforeAndNow(t *testing.T) {
	for _, c := range []struct {
		name       string
		times      []time.Time
		begin, end int
		want       []time.Time
		by         int
	}{
		{"within", at(10, 30, 20), 5, 40, at(10, 30, 20), 0},
		{"early", at(10, 30, 20), 15, 40, at(15, 35, 25), 5},
		{"late", at(10, 30, 20), 5, 25, at(5, 25, 15), -5},
		{"longer than there is time", at(10, 30, 20), 15, 30, at(15, 30, 20), 0},
		{"much longer than there is time", at(10, 30, 20), 35, 36, at(35, 36, 35), 6},
		{"of a moment", at(10), 15, 30, at(15), 5},
	} {
		got := slices.Clone(c.times)
		by := fit(got, time.UnixMicro(int64(c.begin)), time.UnixMicro(int64(c.end)))
		if !slices.Equal(got, c.want) || by != time.Duration(c.by)*time.Microsecond {
			t.Errorf("%s: %v, by %v, want %v", c.name, got, by, c.want)
		}
	}
}

// TestEntriesDoNotOverlap has a device whose clock is 1 ms too late for the first entry.
func TestEntriesDoNotOverlap(t *testing.T) {
	now := time.Now()
	q := &Queue[int]{}
	e := &Entry[int]{Begin: now.Add(-10 * time.Millisecond)}
	first := []time.Time{now.Add(-2 * time.Millisecond), now.Add(-time.Millisecond)}
	if by := q.Fit(e, first); by != 0 {
		t.Errorf("the first entry is moved by %v", by)
	}
	q.Last = first[1]
	second := []time.Time{now.Add(-3 * time.Millisecond), now.Add(time.Hour)}
	q.Fit(e, second)
	if second[0] != q.Last || second[1].After(time.Now()) {
		t.Errorf("the second entry is from %v to %v, the first one ended at %v", second[0], second[1], q.Last)
	}
}
