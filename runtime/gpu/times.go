package gpu

import "time"

// Fit moves the times of an entry, the first of which is the least, so that they are after the entry was issued and the
// one before had ended, and before now: the clocks of device and host drift, and are not related exactly. It returns by
// how much. If the times take longer than that, the entry before seems to have ended too late, and what would overlap
// it is cut.
func (q *Queue[X]) Fit(e *Entry[X], at []time.Time) (by time.Duration) {
	begin := e.Begin
	if begin.Before(q.Last) {
		begin = q.Last
	}
	return fit(at, begin, time.Now())
}

// fit is Fit for times between begin and end.
func fit(at []time.Time, begin, end time.Time) (by time.Duration) {
	by = max(begin.Sub(at[0]), 0)
	last := at[0]
	for _, t := range at {
		last = later(last, t)
	}
	by -= max(last.Add(by).Sub(end), 0)
	for i := range at {
		at[i] = later(begin, at[i].Add(by))
	}
	return by
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
