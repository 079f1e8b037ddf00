package ir

import "testing"

func TestTablesKeepValuesAndNodesOfFunctionsApart(t *testing.T) {
	m := &Module{}
	f := m.AddFunc("f")
	g := m.NewBody("body")
	var values ValueTable[int]
	var nodes NodeTable[int]
	var all []*Value
	for i := range 100 { // more than the tables have room for when the first one is asked for
		for _, in := range []*Func{f, g} {
			n := in.Append(in.NewNode(OpNeg, nil, nil, "", Type{}))
			all = append(all, n.Result())
			if *values.At(n.Result()) != 0 || *nodes.At(n) != 0 {
				t.Fatalf("node %d of %s has elements before they are set", i, in.Name)
			}
			*values.At(n.Result()), *nodes.At(n) = len(all), -len(all)
		}
	}
	for i, v := range all {
		if got, of := *values.At(v), *nodes.At(v.Def); got != i+1 || of != -i-1 {
			t.Errorf("value %d of %s has %d, its node %d", i, v.Func.Name, got, of)
		}
	}
}
