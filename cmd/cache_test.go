package cmd

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// newCache returns a cache in a folder that does not exist yet.
func newCache(t *testing.T) cache {
	return cache{filepath.Join(t.TempDir(), "ggmlc", "run")}
}

// put adds an entry of the given size and time since its last use.
func (c cache) put(t *testing.T, name string, bytes, hours int) {
	t.Helper()
	dir := filepath.Join(c.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "program"), make([]byte, bytes), 0o700); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-time.Duration(hours) * time.Hour)
	if err := os.Chtimes(dir, at, at); err != nil {
		t.Fatal(err)
	}
}

func (c cache) names(t *testing.T) []string {
	t.Helper()
	all, err := c.entries()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		names = append(names, filepath.Base(e.dir))
	}
	return names
}

func TestCacheEvicts(t *testing.T) {
	for _, c := range []struct {
		limit int64
		want  []string
	}{
		{1000, []string{"new", "used", "old"}},
		{600, []string{"new", "used", "old"}},
		{599, []string{"new", "used"}},
		{299, []string{"new"}},
		{0, []string{"new"}}, // it is about to run
	} {
		cache := newCache(t)
		cache.put(t, "old", 300, 3)
		cache.put(t, "new", 100, 0)
		cache.put(t, "used", 200, 1)
		cache.evict(t.Context(), c.limit, filepath.Join(cache.dir, "new"))
		if got := cache.names(t); !slices.Equal(got, c.want) {
			t.Errorf("with a limit of %d bytes %q stay, want %q", c.limit, got, c.want)
		}
	}
}

// TestEvictLeavesWhatIsInUse: an entry is in use until the file that locks it is closed.
func TestEvictLeavesWhatIsInUse(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders have no locks here")
	}
	c := newCache(t)
	c.put(t, "old", 300, 3)
	c.put(t, "new", 100, 0)
	lock, err := c.use(filepath.Join(c.dir, "old"))
	if err != nil {
		t.Fatal(err)
	}
	c.evict(t.Context(), 0, filepath.Join(c.dir, "new"))
	if got := c.names(t); !slices.Equal(got, []string{"new", "old"}) {
		t.Errorf("%q stay while old is in use", got)
	}
	lock.Close()
	c.evict(t.Context(), 0, filepath.Join(c.dir, "new"))
	if got := c.names(t); !slices.Equal(got, []string{"new"}) {
		t.Errorf("%q stay", got)
	}
}

// TestCacheIsPrivate has folders with the permissions of an older ggmlc, and folders that other users may have
// prepared.
func TestCacheIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("who owns a folder is not known here")
	}
	c := newCache(t)
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.make(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range c.folders() {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
	for _, dir := range c.folders() {
		if err := os.Chmod(dir, 0o775); err != nil {
			t.Fatal(err)
		}
		if err := c.make(); err == nil || !strings.Contains(err.Error(), "others may write") || exitStatus(err) != exitModel {
			t.Errorf("%s may be written by others: %v", dir, err)
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c.put(t, "entry", 1, 0)
	if err := os.Chmod(c.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.clean(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(c.dir)); !os.IsNotExist(err) {
		t.Errorf("after clean: %v", err)
	}
	if _, _, err := c.clean(t.Context()); err != nil {
		t.Errorf("clean of nothing: %v", err)
	}
}

// TestCacheOfAnotherUserIsRefused needs the right to change the owner of folders.
func TestCacheOfAnotherUserIsRefused(t *testing.T) {
	if os.Getuid() != 0 || runtime.GOOS == "windows" {
		t.Skip("only root gives folders away")
	}
	c := newCache(t)
	if err := c.make(); err != nil {
		t.Fatal(err)
	}
	link := cache{filepath.Join(t.TempDir(), "ggmlc", "run")}
	if err := os.Symlink(filepath.Dir(c.dir), filepath.Dir(link.dir)); err != nil {
		t.Fatal(err)
	}
	if err := link.make(); err != nil {
		t.Errorf("a link of one's own: %v", err)
	}
	c.put(t, "entry", 1, 0)
	const somebody = 54321
	if err := os.Lchown(filepath.Dir(link.dir), somebody, somebody); err != nil {
		t.Fatal(err)
	}
	refuses := func(c cache) {
		t.Helper()
		_, _, clean := c.clean(t.Context())
		for _, err := range []error{c.make(), c.check(), clean} {
			if err == nil || !strings.Contains(err.Error(), "belongs to another user") || exitStatus(err) != exitModel {
				t.Error(err)
			}
		}
	}
	refuses(link)
	if err := os.Chown(c.dir, somebody, somebody); err != nil {
		t.Fatal(err)
	}
	refuses(c)
	if len(c.names(t)) != 1 {
		t.Error("clean has removed what is somebody else's")
	}
}
