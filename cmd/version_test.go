package cmd

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		name, version, commit, modified, release, exact string
	}{
		{"a release", "v1.2.3", "", "", "v1.2.3", "v1.2.3"},
		{"a checkout at a tag", "v1.2.3", commit, "false", "v1.2.3", "v1.2.3"},
		{"a commit from the module cache", "v0.0.0-20260102030405-0123456789ab", "", "", "v0.0.0-20260102030405-0123456789ab", "v0.0.0-20260102030405-0123456789ab"},
		{"a checkout", "v0.0.0-20260102030405-0123456789ab", commit, "false", "devel", "devel 0123456789ab"},
		{"a changed checkout", "v0.0.0-20260102030405-0123456789ab+dirty", commit, "true", "devel", "devel 0123456789ab+"},
		{"a changed checkout at a tag", "v1.2.3+dirty", commit, "true", "devel", "devel 0123456789ab+"},
		{"without stamps", "(devel)", "", "", "devel", "devel"},
		{"a test", "", "", "", "devel", "devel"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.version}}
		if c.commit != "" {
			info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: c.commit}, {Key: "vcs.modified", Value: c.modified}}
		}
		if got := release(info); got != c.release {
			t.Errorf("%s: release %q, want %q", c.name, got, c.release)
		}
		if got := exact(info); got != c.exact {
			t.Errorf("%s: exact %q, want %q", c.name, got, c.exact)
		}
	}
}
