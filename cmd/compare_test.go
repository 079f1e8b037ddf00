package cmd

import "testing"

// TestSecondProgramTakesOverFlags looks at what --with keeps of the flags of the first program.
func TestSecondProgramTakesOverFlags(t *testing.T) {
	args := []string{"--targets", "tp,cpu", "--group", "tp=fake:0,fake:1", "--shard", "ffn_up=axis0", "--deny", "fake:2", "--kv", "f32"}
	for _, c := range []struct {
		with         string
		group, shard bool // taken over
	}{
		{"cpu", false, false},
		{"--quantize q8_0", true, true},
	} {
		cmd := compareCommand()
		if err := cmd.ParseFlags(append(args, "--with", c.with)); err != nil {
			t.Fatal(err)
		}
		var f compareFlags
		f.with = c.with
		second, err := f.second(cmd)
		if err != nil {
			t.Fatal(err)
		}
		given := second.cmd.Flags().Changed
		if !given("kv") || given("group") != c.group || given("shard") != c.shard || given("deny") != c.group {
			t.Errorf("--with %q: kv %v, group %v, shard %v, deny %v", c.with, given("kv"), given("group"), given("shard"), given("deny"))
		}
	}
}
