package mem

import (
	"slices"
	"strings"
	"testing"
)

func TestCSVRoundTrip(t *testing.T) {
	const in = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\n\"b,3\",0,9,4\n"
	p, err := ReadCSV(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	want := []Buffer{{"b1", 0, 3, 4, 0}, {"b2", 3, 9, 4, 0}, {"b,3", 0, 9, 4, 0}}
	if !slices.Equal(p.Buffers, want) {
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

func TestCSVAlignment(t *testing.T) {
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

func TestReadCSVErrors(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", "no header id,lower,upper,size: EOF"},
		{"missing column", "id,lower,upper\n", `header: column "size" is missing`},
		{"unknown column", "id,lower,upper,size,gap\n", `header: column "gap" is unknown or doubled`},
		{"doubled column", "id,lower,upper,size,id\n", `header: column "id" is unknown or doubled`},
		{"every bad row", "id,lower,upper,size\na,0,1,x\nb,0,1,2\nc,,1,2\n", "line 2: size: strconv.ParseInt: parsing \"x\": invalid syntax\nline 4: lower: "},
		{"short row", "id,lower,upper,size\na,0,1\n", "record on line 2: wrong number of fields"},
		{"bad problem", "id,lower,upper,size\na,1,1,2\n", `buffer "a": its interval [1,1) is empty`},
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
