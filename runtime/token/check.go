package token

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Check returns the error that Encode would return, without encoding. It does not find merges that collide in every
// hash, which takes as much memory as to encode them.
func (t *Table) Check() error {
	if err := t.check(); err != nil {
		return err
	}
	_, _, err := hashTexts(t.Tokens)
	return err
}

// check reports all faults of the table's fields.
func (t *Table) check() error {
	var errs []error
	n := len(t.Tokens)
	if n == 0 || n >= 1<<28 {
		errs = append(errs, fmt.Errorf("%d tokens, where 1 to 2^28 are possible", n))
	}
	scores := n
	if !t.algorithm().scored() {
		scores = 0
	}
	if len(t.Scores) != scores || len(t.Types) != n {
		errs = append(errs, fmt.Errorf("%d tokens, but %d scores and %d types", n, len(t.Scores), len(t.Types)))
		return errors.Join(errs...)
	}
	for _, id := range slices.Concat([]int32{t.BOS, t.EOS, t.UNK, t.sep()}, t.EOG, t.Suppressed, t.StripLeft, t.StripRight) {
		if id != None && uint32(id) >= uint32(n) {
			errs = append(errs, fmt.Errorf("special token %d is not among the %d tokens", id, n))
		}
	}
	if t.AddBOS && t.BOS == None || t.AddEOS && t.EOS == None || t.AddSEP && t.SEP == None ||
		t.PairSEP && t.SEP == None || t.PairEOS && t.EOS == None && t.SEP == None {
		errs = append(errs, errors.New("a token is to be added that the vocabulary lacks"))
	}
	if t.Pair != "" {
		if err := ValidPair(t.Pair); err != nil {
			errs = append(errs, fmt.Errorf("the template for ranks %w", err))
		}
	}
	if n := totalBytes(t.Tokens) + t.mergeBytes(); n > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("%d bytes of text", n))
	}
	if needsUNK := t.algorithm() == WPM || t.algorithm() == UGM; needsUNK && t.UNK == None {
		errs = append(errs, errors.New("no unknown token"))
	}
	if len(t.Charsmap) > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("a map of characters of %d bytes", len(t.Charsmap)))
	}
	if i := slices.IndexFunc(t.Merges, func(m string) bool { return !ValidMerge(m) }); i >= 0 {
		errs = append(errs, fmt.Errorf("merge %d is not two texts with a space between them", i))
	}
	if t.algorithm() >= numAlgorithms || t.Split >= numSplits || len(t.Merges) > 1<<26 {
		errs = append(errs, fmt.Errorf("algorithm %d, split %d, %d merges", t.Algorithm, t.Split, len(t.Merges)))
	}
	return errors.Join(append(errs, t.checkTokens()...)...)
}

// scored reports whether tokens have scores.
func (a Algorithm) scored() bool { return a == SPM || a == UGM || a == PLaMo }

// checkTokens checks the tokens one by one. It reports the first fault of each kind.
func (t *Table) checkTokens() []error {
	for id, s := range t.Tokens {
		switch {
		case len(s) > MaxTokenBytes:
			return []error{fmt.Errorf("token %d is %d bytes long, at most %d are possible", id, len(s), MaxTokenBytes)}
		case len(t.Scores) > 0 && t.Scores[id] != t.Scores[id]:
			return []error{fmt.Errorf("the score of token %d is not a number", id)}
		case t.Types[id] >= numTypes:
			return []error{fmt.Errorf("token %d has the unknown type %d", id, t.Types[id])}
		}
	}
	return nil
}

// totalBytes returns the sum of the lengths of texts.
func totalBytes(texts []string) int {
	n := 0
	for _, s := range texts {
		n += len(s)
	}
	return n
}

// mergeBytes returns the most bytes that the texts of merges can have.
func (t *Table) mergeBytes() int {
	n := 0
	for _, m := range t.Merges {
		n += 2 * len(m)
	}
	return n
}
