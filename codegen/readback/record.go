package readback

import (
	"fmt"
	"maps"
	"slices"
)

// What tables have to hold is written with these: a record for a composite with keys, a list
// for one without, declared for what is declared elsewhere; int64, string, bool for
// constants.
type (
	record   map[string]any
	list     []any
	declared string // such as dtype.F32; with & where its address is taken
)

// anything is not compared, as nothing that a step computes depends on it.
type anything struct{}

// compare returns how a composite differs from the record. A field that is absent is zero.
func (r record) compare(path string, got value) []string {
	if got.kind != composite || got.list != nil {
		return []string{fmt.Sprintf("%s is %v, no record", path, got)}
	}
	var wrong []string
	for _, key := range slices.Sorted(maps.Keys(got.fields)) {
		if _, known := r[key]; !known {
			wrong = append(wrong, fmt.Sprintf("%s has the field %s, which nothing is known of", path, key))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r)) {
		wrong = append(wrong, compare(path+"."+key, got.fields[key], r[key])...)
	}
	return wrong
}

func compare(path string, got value, want any) []string {
	differ := func() []string { return []string{fmt.Sprintf("%s is %v, not %v", path, got, want)} }
	absent := got.kind == invalid
	switch want := want.(type) {
	case anything:
		return nil
	case record:
		if absent {
			return differ()
		}
		return want.compare(path, got)
	case list:
		if len(got.list) != len(want) || !absent && got.kind != composite {
			return []string{fmt.Sprintf("%s has %d elements, not %d", path, len(got.list), len(want))}
		}
		var wrong []string
		for i := range want {
			wrong = append(wrong, compare(fmt.Sprintf("%s[%d]", path, i), got.list[i], want[i])...)
		}
		return wrong
	case int64:
		if n, ok := got.n.IsConst(); absent && want == 0 || got.kind == number && ok && n == want {
			return nil
		}
	case string:
		if absent && want == "" || got.kind == text && got.text == want {
			return nil
		}
	case bool:
		if absent && !want || got.kind == boolean && got.text == fmt.Sprint(want) {
			return nil
		}
	case declared:
		if absent && want == "" || got.kind == name && got.String() == string(want) {
			return nil
		}
	default:
		panic(fmt.Sprintf("readback: internal error: a table of %T", want))
	}
	return differ()
}
