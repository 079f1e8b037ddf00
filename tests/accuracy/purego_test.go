package accuracy

import "testing"

// checkPureGo checks that a build without assembly computes, bit for bit, what the
// pure-Go kernels of the other build do.
func checkPureGo(t *testing.T, dir, exe string, set []*random) {
	pure := buildRunner(t, dir, "purego", len(set), "-tags=purego")
	var jobs []Job
	for i, r := range set {
		tokens := tokensOf(r)
		jobs = append(jobs, Job{Model: i, Impl: "generic", Threads: 2, Tokens: tokens[:12], Prefills: []int{1, min(9, r.batch+1)}})
	}
	want := runJobs(t, exe, jobs)
	for i, got := range runJobs(t, pure, jobs) {
		if got.Err != "" || want[i].Err != "" {
			t.Errorf("%v: %s %s", set[i], got.Err, want[i].Err)
			continue
		}
		checkSame(t, set[i].String(), got.Rows, want[i].Rows)
	}
}
