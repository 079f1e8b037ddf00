package readback_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/codegen/readback"
	"github.com/ggmlc/ggmlc/ir"
)

// BenchmarkCheck measures Check and, for comparison, the other parts of a build of the demo: loading and
// compiling, emitting and packing, and the Go command.
func BenchmarkCheck(b *testing.B) {
	load := func() *driver.Model {
		md, err := driver.Load(b.Context(), "../../cmd/ggmlc/demo/stories.gguf", driver.LoadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { md.Close() })
		return md
	}
	for name, targets := range map[string]string{"cpu": "cpu", "fakes": twoFakes} {
		b.Run(name, func(b *testing.B) {
			md := load()
			s, err := emit(b.Context(), "demo", md.Module, md.Tokenizer, setting{targets: targets})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := s.check(s.files); err != nil {
					b.Fatal(err)
				}
			}
			check := b.Elapsed() / time.Duration(b.N)
			build, compile := buildTimes(b, load(), s)
			b.ReportMetric(100*check.Seconds()/compile.Seconds(), "%-of-compile")
			b.ReportMetric(100*check.Seconds()/build.Seconds(), "%-of-build")
			b.ReportMetric(float64(compile.Milliseconds()), "compile-ms")
			b.ReportMetric(float64(build.Milliseconds()), "build-ms")
		})
	}
}

// buildTimes returns how long a model takes to be built, with what the Go command has in its
// cache, and how long to be compiled.
func buildTimes(b *testing.B, md *driver.Model, s *subject) (build, compile time.Duration) {
	b.Helper()
	begin := time.Now()
	if _, err := driver.Compile(b.Context(), md, driver.CompileOptions{Targets: s.targets}); err != nil {
		b.Fatal(err)
	}
	compile = time.Since(begin)
	out := filepath.Join(b.TempDir(), "demo")
	for range 2 { // the first one fills the Go command's cache
		begin = time.Now()
		if err := driver.Build(b.Context(), md, driver.OutputOptions{Out: out, Compiler: "ggmlc test"}); err != nil {
			b.Fatal(err)
		}
		build = time.Since(begin)
	}
	return compile + build, compile
}

// BenchmarkCheckLarge measures Check of chains of elementwise nodes.
func BenchmarkCheckLarge(b *testing.B) {
	for _, nodes := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			var text strings.Builder
			text.WriteString("symbol n 1 40\nfunc @f(%x0: f32[n,64], %y: f32[n,64]) -> (y: f32[n,64]) {\n")
			for i := range nodes {
				fmt.Fprintf(&text, "  %%x%d = %s %%x%d%s\n", i+1, []string{"softmax", "add", "exp", "mul"}[i%4], i, []string{"", ", %y", "", ", %y"}[i%4])
			}
			fmt.Fprintf(&text, "  return %%x%d\n}\n", nodes)
			m, err := ir.Parse("large.ggir", []byte(text.String()))
			if err != nil {
				b.Fatal(err)
			}
			begin := time.Now()
			s, err := emit(b.Context(), "large", m, nil, setting{disable: []string{"roll"}})
			if err != nil {
				b.Fatal(err)
			}
			compile := time.Since(begin)
			for b.Loop() {
				if err := readback.Check(s.m, s.targets, s.files, s.facts); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(100*b.Elapsed().Seconds()/float64(b.N)/compile.Seconds(), "%-of-compile-and-emit")
			b.ReportMetric(compile.Seconds(), "compile-and-emit-s")
		})
	}
}
