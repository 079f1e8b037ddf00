package ir

import (
	"math"
	"testing"
)

func TestFloatsKeepTheirBits(t *testing.T) {
	bits := []uint32{0, 1 << 31, 1, 0x80000001, 0x3f800000, 0x3727c5ac, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x7fffffff}
	for i := uint32(0); i < 4000; i++ {
		bits = append(bits, i*0x9e3779b1)
	}
	for _, b := range bits {
		text := floatText(math.Float32frombits(b))
		p := newParser("t", []byte(text))
		if got := p.float(); p.failed() || math.Float32bits(got) != b || p.tok.kind != tokEOF {
			t.Errorf("%#x is printed %s and read %#x (%v)", b, text, math.Float32bits(got), p.err())
		}
	}
}

func TestDefaultAttributesAreOmitted(t *testing.T) {
	if a := NewAttr(OpRopeTable).(*RopeTableAttr); a.Scale != 1 {
		t.Errorf("scale %v", a.Scale)
	}
	if NewAttr(OpAdd) != nil {
		t.Error("add has attributes")
	}
	n := &Node{Op: OpScale, Attr: &ScaleAttr{Scale: 2}}
	if _, text := AttrText(n); text != "{scale=2}" {
		t.Errorf("a default is printed: %s", text)
	}
	n.Attr = &ScaleAttr{Scale: 2, Bias: float32(math.Copysign(0, -1))}
	if _, text := AttrText(n); text != "{scale=2, bias=-0}" {
		t.Errorf("minus zero is taken for the default: %s", text)
	}
}

func TestEqualAttrComparesByValue(t *testing.T) {
	nan := float32(math.NaN())
	tests := []struct {
		op   Op
		a, b any
		want bool
	}{
		{OpAdd, nil, nil, true},
		{OpScale, &ScaleAttr{Scale: nan}, &ScaleAttr{Scale: nan}, true},
		{OpScale, &ScaleAttr{Scale: 1}, &ScaleAttr{Scale: 1, Bias: 1}, false},
		{OpScale, &ScaleAttr{}, &NormAttr{}, false},
		{OpScale, &ScaleAttr{}, nil, false},
		{OpPermute, &PermuteAttr{}, &PermuteAttr{Perm: []int{}}, true},
		{OpPermute, &PermuteAttr{Perm: []int{0, 1}}, &PermuteAttr{Perm: []int{1, 0}}, false},
		{OpConstant, &ConstantAttr{Data: []byte{1}}, &ConstantAttr{Data: []byte{1}}, true},
		{OpReshape, &ReshapeAttr{Shape: Dims(2)}, &ReshapeAttr{Shape: Dims(2)}, true},
	}
	for _, tt := range tests {
		if got := EqualAttr(tt.op, tt.a, tt.b); got != tt.want {
			t.Errorf("%v %v %v: %v", tt.op, tt.a, tt.b, got)
		}
	}
}

func TestCloneAttrIsDeep(t *testing.T) {
	a := &PermuteAttr{Perm: []int{1, 0}}
	CloneAttr(OpPermute, a).(*PermuteAttr).Perm[0] = 7
	if a.Perm[0] != 1 {
		t.Error("the clone shares a list")
	}
	if CloneAttr(OpAdd, nil) != nil {
		t.Error("nothing has a clone")
	}
}

// TestStepsOfChainsCompareByValue has a chain and copies of it with one change each.
func TestStepsOfChainsCompareByValue(t *testing.T) {
	attr := func(change func(s []ChainStep)) *ChainAttr {
		steps := []ChainStep{
			{Op: OpScale, Attr: &ScaleAttr{Scale: 2}, Args: []ChainRef{{Index: 0}}},
			{Op: OpMul, Args: []ChainRef{{Step: true}, {Index: 1}}},
		}
		change(steps)
		return &ChainAttr{Steps: steps}
	}
	a := attr(func([]ChainStep) {})
	if b := CloneAttr(OpChain, a).(*ChainAttr); !EqualAttr(OpChain, a, b) {
		t.Error("the clone differs")
	} else if b.Steps[0].Attr.(*ScaleAttr).Scale, b.Steps[1].Args[0].Step = 7, false; a.Steps[0].Attr.(*ScaleAttr).Scale != 2 || !a.Steps[1].Args[0].Step {
		t.Error("the clone shares its steps")
	}
	for name, change := range map[string]func(s []ChainStep){
		"op":        func(s []ChainStep) { s[1].Op = OpAdd },
		"attribute": func(s []ChainStep) { s[0].Attr = &ScaleAttr{Scale: 3} },
		"operand":   func(s []ChainStep) { s[1].Args[1].Index = 0 },
		"step":      func(s []ChainStep) { s[1].Args[0].Step = false },
	} {
		if b := attr(change); EqualAttr(OpChain, a, b) || stepsText(a.Steps) == stepsText(b.Steps) {
			t.Errorf("another %s: %v is equal to %v", name, stepsText(a.Steps), stepsText(b.Steps))
		}
	}
}

func TestCheckAttrRejectsAttributesOfOtherOps(t *testing.T) {
	for _, n := range []*Node{
		{Op: OpScale}, {Op: OpScale, Attr: ScaleAttr{}}, {Op: OpScale, Attr: (*ScaleAttr)(nil)},
		{Op: OpScale, Attr: &NormAttr{}}, {Op: OpAdd, Attr: &NormAttr{}},
	} {
		if checkAttr(n) == nil {
			t.Errorf("%v accepts %#v", n.Op, n.Attr)
		}
	}
}
