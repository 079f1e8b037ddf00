package readback_test

import "testing"

// TestUnknownFieldsAreRefused: a field of a table that the plan does not determine is a difference, as it might change
// what the program does.
func TestUnknownFieldsAreRefused(t *testing.T) {
	s := textSubject(t, indexOfText(t, "selections"))
	s.refuses(t, "Below: []runtime.Dim{{Const: 10}", "Above: 3, Below: []runtime.Dim{{Const: 10}", "has the field Above, which nothing is known of")
}
