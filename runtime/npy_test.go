package runtime

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// npy returns a version 1 file with this header and data.
func npy(header, data string) []byte {
	b := append([]byte(npyMagic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	return append(append(b, header...), data...)
}

func TestNPYWrittenIsReadBack(t *testing.T) {
	for _, a := range []Array{
		{dtype.F32, []int{2, 3}, bytes.Repeat([]byte{1, 2, 3, 4}, 6)},
		{dtype.I32, []int{5}, bytes.Repeat([]byte{9}, 20)},
		{dtype.F16, []int{}, []byte{0, 0x3c}},
		{dtype.U8, []int{0, 7}, []byte{}},
		{dtype.Bool, []int{1}, []byte{1}},
		{dtype.I64, []int{1, 1, 1, 1, 1, 1}, make([]byte, 8)},
	} {
		var b bytes.Buffer
		if err := WriteNPY(&b, a); err != nil {
			t.Fatal(err)
		}
		if n := b.Len() - len(a.Data); n%64 != 0 {
			t.Errorf("%v: elements begin at byte %d", a.Type, n)
		}
		got, err := ReadNPY(&b, 1<<20)
		if len(got.Data) == 0 {
			got.Data = []byte{}
		}
		if err != nil || !reflect.DeepEqual(got, a) {
			t.Errorf("%+v came back as %+v, %v", a, got, err)
		}
	}
}

// TestNPYOfNumpy reads a header that numpy 1.26 wrote for np.save(f, np.float32([[1],[2]])).
func TestNPYOfNumpy(t *testing.T) {
	header := "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }" + strings.Repeat(" ", 58) + "\n"
	a, err := ReadNPY(bytes.NewReader(npy(header, "\x00\x00\x80\x3f\x00\x00\x00\x40")), 8)
	if err != nil || a.Type != dtype.F32 || len(a.Shape) != 2 || a.Shape[0] != 2 || len(a.Data) != 8 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestNPYRefusesOtherFormats(t *testing.T) {
	const ok = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
	with := func(old, new string) []byte { return npy(strings.Replace(ok, old, new, 1), "12345678") }
	cases := map[string]struct {
		file []byte
		want string
	}{
		"empty":            {nil, "no .npy file"},
		"text":             {[]byte("1,2,3,4,5,6,7,8"), "no .npy file"},
		"version 9":        {append([]byte(npyMagic), 9, 0, 0, 0), "version 9"},
		"header cut":       {npy(ok, "")[:30], "inside the header"},
		"header huge":      {append([]byte(npyMagic), 2, 0, 0xff, 0xff, 0xff, 0xff), "at most 65536"},
		"data cut":         {npy(ok, "1234567"), "7 of 8 bytes"},
		"data long":        {npy(ok, "123456789"), "more after the 8 bytes"},
		"no dict":          {npy("[1]", ""), `'{' wanted`},
		"big-endian":       {with("<f4", ">f4"), "big-endian (>f4)"},
		"fortran":          {with("False", "True"), "Fortran order"},
		"neither":          {with("False", "0"), "True or False"},
		"structured":       {with("'<f4'", "[('a', '<f4')]"), "structured"},
		"unknown type":     {with("<f4", "<U7"), `"<U7"`},
		"objects":          {with("<f4", "|O"), `"|O"`},
		"key twice":        {with("}", "'shape': (2,)}"), "twice"},
		"key unknown":      {with("}", "'x': 1}"), `"x"`},
		"key missing":      {npy("{'descr': '<f4', 'shape': (2,)}", ""), "descr, fortran_order and shape"},
		"after the dict":   {with("}", "} x"), "nothing else"},
		"negative":         {with("(2,)", "(-2,)"), "no shape"},
		"shape too large":  {with("(2,)", "(99999999999999999999,)"), "no shape"},
		"product too big":  {with("(2,)", "(4294967296, 4294967296)"), "more than the"},
		"above the limit":  {with("(2,)", "(1000000,)"), "more than the 1024 bytes"},
		"rank 33":          {with("(2,)", "("+strings.Repeat("1,", 33)+")"), "no shape"},
		"shape not closed": {npy("{'shape': (2", ""), "wanted"},
		"string not ended": {npy("{'sha", ""), "does not end"},
	}
	for name, c := range cases {
		if _, err := ReadNPY(bytes.NewReader(c.file), 1024); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if err := WriteNPY(&bytes.Buffer{}, Array{Type: dtype.Q8_0}); err == nil {
		t.Error("a quantized array is written")
	}
}

func FuzzReadNPY(f *testing.F) {
	f.Add(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "12345678"))
	f.Add(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", "1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := ReadNPY(bytes.NewReader(b), 1<<16)
		if err != nil {
			return
		}
		if size, _ := a.bytes(1 << 16); size != int64(len(a.Data)) {
			t.Fatalf("shape %v of %v with %d bytes", a.Shape, a.Type, len(a.Data))
		}
		var out bytes.Buffer
		if err := WriteNPY(&out, a); err != nil {
			t.Fatal(err)
		}
		again, err := ReadNPY(&out, 1<<16)
		if err != nil || !reflect.DeepEqual(again.Shape, a.Shape) || !bytes.Equal(again.Data, a.Data) {
			t.Fatalf("%+v came back as %+v, %v", a, again, err)
		}
	})
}
