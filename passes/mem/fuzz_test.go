package mem

import (
	"context"
	"strings"
	"testing"
)

// FuzzReadCSV checks that what can be read has a valid solution, which can be written.
func FuzzReadCSV(f *testing.F) {
	f.Add("id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\n\"b,3\",0,9,4\n")
	f.Add("size,alignment,id,upper,lower\n4,8,x,2,1\n7,3,y,3,0\n")
	f.Add("id,lower,upper,size\na,-9223372036854775808,9223372036854775807,9223372036854775807\n")
	f.Add("id,lower,upper,size\na,0,1,4611686018427387904\nb,0,1,4611686018427387904\n")
	f.Add("id,lower,upper,size,gaps\nx,-3,9,4,-2-0 5-7\ny,5,7,4,5-7\n")
	f.Add("id,lower,upper,size,offset\nx,0,2,4,8\ny,0,2,4,\nz,1,2,0,9\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ReadCSV(strings.NewReader(text))
		if err != nil {
			return
		}
		s, _, err := Solve(context.Background(), p, Options{MaxSteps: 1000})
		if err != nil {
			t.Fatalf("a problem without a capacity has a solution: %v", err)
		}
		if err := p.Validate(s, s.Height); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := WriteCSV(&out, p, s); err != nil {
			t.Fatal(err)
		}
	})
}
