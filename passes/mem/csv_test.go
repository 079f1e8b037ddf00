package mem

import (
	"reflect"
	"strings"
	"testing"
)

func TestCSVIsWrittenAsRead(t *testing.T) {
	const in = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\n\"b,3\",0,9,4\n"
	p, err := ReadCSV(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	want := []Buffer{{"b1", 0, 3, 4, 0, nil, false, 0}, {"b2", 3, 9, 4, 0, nil, false, 0}, {"b,3", 0, 9, 4, 0, nil, false, 0}}
	if !reflect.DeepEqual(p.Buffers, want) {
		t.Fatalf("read %+v, want %+v", p.Buffers, want)
	}
	var out strings.Builder
	if err := WriteCSV(&out, p, Solution{Offsets: []int64{0, 0, 4}}); err != nil {
		t.Fatal(err)
	}
	const wantOut = "id,lower,upper,size,offset\nb1,0,3,4,0\nb2,3,9,4,0\n\"b,3\",0,9,4,4\n"
	if out.String() != wantOut {
		t.Errorf("wrote\n%s\nwant\n%s", out.String(), wantOut)
	}
}

func TestCSVKeepsAlignment(t *testing.T) {
	p, err := ReadCSV(strings.NewReader("size,alignment,id,upper,lower\n4,8,x,2,1\n"))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := WriteCSV(&out, p, Solution{Offsets: []int64{8}}); err != nil {
		t.Fatal(err)
	}
	if want := "id,lower,upper,size,alignment,offset\nx,1,2,4,8,8\n"; out.String() != want {
		t.Errorf("wrote %q, want %q", out.String(), want)
	}
}

func TestCSVReadsNamesOfTheConverter(t *testing.T) {
	p, err := ReadCSV(strings.NewReader("\ufeffbuffer_id, begin,end, size\r\nx, 1,1,4\r\n"))
	if want := []Buffer{{"x", 1, 2, 4, 0, nil, false, 0}}; err != nil || !reflect.DeepEqual(p.Buffers, want) {
		t.Errorf("read %+v, error %v, want %+v", p.Buffers, err, want)
	}
}

func TestCSVKeepsGaps(t *testing.T) {
	p, err := ReadCSV(strings.NewReader("id,lower,end,size,gaps\nx,-3,8,4,-2--1 5-6\ny,5,6,4,\n"))
	want := []Buffer{{"x", -3, 9, 4, 0, []Interval{{-2, 0}, {5, 7}}, false, 0}, {"y", 5, 7, 4, 0, nil, false, 0}}
	if err != nil || !reflect.DeepEqual(p.Buffers, want) {
		t.Fatalf("read %+v, error %v, want %+v", p.Buffers, err, want)
	}
	var out strings.Builder
	if err := WriteCSV(&out, p, Solution{Offsets: []int64{0, 0}}); err != nil {
		t.Fatal(err)
	}
	if want := "id,lower,upper,size,gaps,offset\nx,-3,9,4,-2-0 5-7,0\ny,5,7,4,,0\n"; out.String() != want {
		t.Errorf("wrote %q, want %q", out.String(), want)
	}
}

func TestCSVOffsetFixesBuffer(t *testing.T) {
	p, err := ReadCSV(strings.NewReader("id,lower,upper,size,offset\nx,0,2,4,8\ny,0,2,4,\n"))
	want := []Buffer{{"x", 0, 2, 4, 0, nil, true, 8}, {"y", 0, 2, 4, 0, nil, false, 0}}
	if err != nil || !reflect.DeepEqual(p.Buffers, want) {
		t.Fatalf("read %+v, error %v, want %+v", p.Buffers, err, want)
	}
}

func TestReadCSVNamesTheWrongLine(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", "line 1: the file is empty; write a header with the columns id,lower,upper,size"},
		{"missing column", "id,lower,upper\n", `line 1: column "size" is missing`},
		{"unknown column", "id,lower,upper,size,gap\n", `line 1: column "gap" is unknown`},
		{"doubled column", "id,lower,upper,size,id\n", `line 1: column "id" is there twice`},
		{"doubled meaning", "id,lower,upper,size,start\n", `line 1: column "lower" is there twice`},
		{"every bad row", "id,lower,upper,size\na,0,1,x\nb,0,1,2\nc,,1,2\n", "line 2: size: \"x\" is not a whole number\nline 4: lower: \"\" is not a whole number"},
		{"short row", "id,lower,upper,size\na,0,1\nb,0,1,y\n", "line 2: another number of fields than in the header\nline 3: size: "},
		{"quote", "id,lower,upper,size\na,0,1,\"3\n", "line 2: extraneous or missing"},
		{"empty life", "id,lower,upper,size\n\na,1,1,2\n", `line 3: buffer "a": its interval [1,1) is empty`},
		{"last instant overflows", "id,lower,end,size\na,0,9223372036854775807,1\n", `line 2: buffer "a": its interval`},
		{"gap outside", "id,lower,upper,size,gaps\na,0,5,1,4-6\n", `line 2: buffer "a": its gap [4,6) is empty, out of order or not within [0,5)`},
		{"gap empty", "id,lower,upper,size,gaps\na,0,5,1,3-3\n", `line 2: buffer "a": its gap [3,3) is empty`},
		{"gap order", "id,lower,upper,size,gaps\na,0,5,1,3-4 1-2\n", `line 2: buffer "a": its gap [1,2) is empty, out of order`},
		{"gap text", "id,lower,upper,size,gaps\na,0,5,1,3\n", `line 2: gaps: "3" is no interval, such as 3-5`},
		{"gap window", "id,lower,upper,size,gaps\na,0,5,1,3-4@0:1\n", `line 2: gaps: "3-4@0:1" has a window, which is not understood`},
		{"fixed below", "id,lower,upper,size,offset\na,0,5,1,-4\n", `line 2: buffer "a": it cannot be at -4`},
		{"fixed between", "id,lower,upper,size,alignment,offset\na,0,5,1,8,4\n", `line 2: buffer "a": it cannot be at 4, aligned to 8`},
		{"fixed overlap", "id,lower,upper,size,offset\na,0,5,2,0\nb,4,5,2,1\n", `buffers "a" and "b" overlap`},
		{"huge sum", "id,lower,upper,size\na,0,1,4611686018427387904\n", `buffer "a": with it the sum of all sizes exceeds`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadCSV(strings.NewReader(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
