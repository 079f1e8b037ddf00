package sample

// adjust returns logits with bias and penalties. It changes a copy, if there are any.
func (s *Sampler) adjust(logits []float32) []float32 {
	if s.work == nil {
		return logits
	}
	copy(s.work, logits)
	for _, b := range s.o.Bias {
		s.work[b.Token] += b.Add
	}
	if s.o.Mirostat == 0 && s.o.penalises() {
		s.penalise()
	}
	if s.dry != nil {
		s.dry.penalise(s)
	}
	return s.work
}

// penalise lowers the logits of recent tokens. The repeat penalty divides positive ones and multiplies negative ones
// (Keskar et al. 2019, CTRL, section 4.1, with llama.cpp's extension to negative logits). A token that occurs several
// times counts once, but for the frequency penalty.
func (s *Sampler) penalise() {
	n := min(s.recent.len(), s.o.RepeatLast)
	for i := range n {
		s.counts[s.recent.last(i)]++
	}
	for i := range n {
		id := s.recent.last(i)
		if s.counts[id] == 0 { // done
			continue
		}
		l := s.work[id]
		if l > 0 {
			l /= s.o.RepeatPenalty
		} else {
			l *= s.o.RepeatPenalty
		}
		s.work[id] = l - float32(s.counts[id])*s.o.FrequencyPenalty - s.o.PresencePenalty
		s.counts[id] = 0
	}
}

// recent holds the last cap(ids) tokens.
type recent struct {
	ids  []int32
	next int // where the oldest is, once there are cap(ids)
}

func (r *recent) len() int { return len(r.ids) }

func (r *recent) add(id int32) {
	switch {
	case cap(r.ids) == 0:
	case len(r.ids) < cap(r.ids):
		r.ids = append(r.ids, id)
	default:
		r.ids[r.next] = id
		r.next = (r.next + 1) % len(r.ids)
	}
}

// last returns the token that was added i tokens before the newest.
func (r *recent) last(i int) int32 {
	at := r.next - 1 - i
	if at < 0 {
		at += len(r.ids)
	}
	return r.ids[at]
}
