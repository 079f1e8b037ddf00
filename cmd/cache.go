package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// defaultCacheLimit is the default of --cache-limit. Programs contain their weights, so a single one may have several
// GiB.
const defaultCacheLimit = "16GiB"

// cache is the place where run keeps executables. Each has a folder whose modification time is that of its last use.
type cache struct{ dir string }

// modelNote is the file of an entry that holds the program's size in bytes and the path of its model, one per line.
const modelNote = "model.txt"

// userCache returns the cache of this user, which need not exist.
func userCache() (cache, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return cache{}, fmt.Errorf("no cache folder: %w: set HOME, or compile models by ggmlc build", err)
	}
	return cache{filepath.Join(base, "ggmlc", "run")}, nil
}

// folders returns the cache and the folder around it, outermost first.
func (c cache) folders() []string { return []string{filepath.Dir(c.dir), c.dir} }

// make creates the folders unless they exist. As their contents are executed, they have to belong to this user alone.
func (c cache) make() error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fmt.Errorf("the cache folder cannot be made: %w: set XDG_CACHE_HOME or HOME to a folder of your own, or compile models by ggmlc build", err)
	}
	if err := c.check(); err != nil {
		return err
	}
	for _, dir := range c.folders() {
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// check refuses folders of other users, and folders that others may write to. Missing folders are fine.
func (c cache) check() error {
	for _, dir := range c.folders() {
		info, err := ownedFolder(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, known := owner(info); known && info.Mode().Perm()&0o022 != 0 {
			return &codegen.FileError{File: dir, Err: errors.New("others may write into this folder of the cache, and so change what run starts: ggmlc cache clean removes it")}
		}
	}
	return nil
}

// ownedFolder returns the status of a folder. It is an error if the folder, or the link to it, does not belong to
// this user.
func ownedFolder(dir string) (fs.FileInfo, error) {
	link, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	for _, i := range []fs.FileInfo{link, info} {
		if id, known := owner(i); known && id != os.Geteuid() {
			return nil, &codegen.FileError{File: dir, Err: errors.New("this folder of the cache belongs to another user: set XDG_CACHE_HOME or HOME to a folder of your own, or compile models by ggmlc build")}
		}
	}
	return info, nil
}

// cached is one executable of the cache.
type cached struct {
	dir   string
	model string // "" if unknown
	bytes int64
	used  time.Time
}

// entries returns the contents of the cache, the most recently used entry first.
func (c cache) entries() ([]cached, error) {
	dirs, err := os.ReadDir(c.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []cached
	for _, d := range dirs {
		info, err := d.Info()
		if err != nil || !d.IsDir() { // it was just removed, or is the demo model
			continue
		}
		e := cached{dir: filepath.Join(c.dir, d.Name()), used: info.ModTime()}
		e.bytes = folderBytes(e.dir)
		_, e.model = readNote(e.dir)
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b cached) int { return cmp.Or(b.used.Compare(a.used), cmp.Compare(a.dir, b.dir)) })
	return all, nil
}

// readNote returns the note of an entry: the size of its program, and its model. They are 0 and "" if the entry is
// incomplete.
func readNote(dir string) (size int64, model string) {
	note, _ := os.ReadFile(filepath.Join(dir, modelNote))
	first, model, _ := strings.Cut(string(note), "\n")
	size, _ = strconv.ParseInt(first, 10, 64)
	return size, model
}

// folderBytes returns the total size of the files in a folder. Files that disappear meanwhile are not counted.
func folderBytes(dir string) int64 {
	var sum int64
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// evict removes the least recently used executables until the others have at most limit bytes. It keeps those in use,
// and the one in dir, which is about to run.
func (c cache) evict(ctx context.Context, limit int64, dir string) {
	lock, err := c.lock(ctx)
	if err != nil {
		return
	}
	defer lock.Close()
	all, err := c.entries()
	if err != nil {
		return
	}
	sum := int64(0)
	for _, e := range all {
		sum += e.bytes
	}
	for _, e := range slices.Backward(all) {
		if sum > limit && e.dir != dir && !inUse(e.dir) && os.RemoveAll(e.dir) == nil {
			sum -= e.bytes
		}
	}
}

// clean removes the cache with its folders, but no link to a folder. If runs use entries, it removes the other entries
// alone. It returns the removed and the remaining entries.
func (c cache) clean(ctx context.Context) (removed, left []cached, err error) {
	for _, dir := range c.folders() {
		if _, err := ownedFolder(dir); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return nil, nil, err
		}
	}
	lock, err := c.lock(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, c.removeOuter()
	}
	if err != nil {
		return nil, nil, err
	}
	defer lock.Close()
	all, err := c.entries()
	if err != nil {
		return nil, nil, err
	}
	free, used := unused(all)
	if len(used) == 0 {
		return all, nil, c.removeFolders()
	}
	return free, used, removeEntries(free)
}

// removeEntries removes entries that no run uses.
func removeEntries(entries []cached) error {
	for _, e := range entries {
		if err := os.RemoveAll(e.dir); err != nil {
			return err
		}
	}
	return nil
}

// removeFolders removes a cache that no run uses. It first renames the folder, so that a run may make a new one
// meanwhile.
func (c cache) removeFolders() error {
	old, err := os.MkdirTemp(filepath.Dir(c.dir), "removed-")
	if err != nil {
		return err
	}
	if err := os.Rename(c.dir, filepath.Join(old, filepath.Base(c.dir))); err != nil {
		return err
	}
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	return c.removeOuter()
}

// removeOuter removes the folder around the cache's folder with what other versions or an interrupted clean have left
// in it, unless it is a link, or a run has just made a new cache in it.
func (c cache) removeOuter() error {
	outer := filepath.Dir(c.dir)
	if info, err := os.Lstat(outer); err != nil || !info.IsDir() {
		return nil
	}
	others, err := os.ReadDir(outer)
	if err != nil {
		return err
	}
	for _, d := range others {
		if d.Name() == filepath.Base(c.dir) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(outer, d.Name())); err != nil {
			return err
		}
	}
	os.Remove(outer) // succeeds only if it is empty
	return nil
}

func cacheCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "show what ggmlc run keeps; cache clean removes it",
		Long: `cache lists the programs that ggmlc run has compiled, the one used last first:
size, last use, model. The program of ggmlc devices is among them. run removes
those that were not used for longest when all have more than --cache-limit.
Neither run nor cache clean removes a program while another ggmlc run compiles
or runs it.`,
		Example: `  ggmlc cache
  ggmlc cache clean`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := userCache()
			if err != nil {
				return err
			}
			if err := c.check(); err != nil {
				return err
			}
			all, err := c.entries()
			if err != nil {
				return err
			}
			return c.list(cmd.OutOrStdout(), all)
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "clean",
		Short: "remove everything that ggmlc run keeps, except programs in use",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := userCache()
			if err != nil {
				return err
			}
			removed, left, err := c.clean(cmd.Context())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), cleaned(removed, left))
			return err
		},
	})
	return cmd
}

// list prints the entries, then their sum.
func (c cache) list(w io.Writer, all []cached) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if len(all) > 0 {
		fmt.Fprintln(tw, "SIZE\tLAST USE\tMODEL")
	}
	for _, e := range all {
		fmt.Fprintf(tw, "%s\t%s\t%s\n", ir.BytesText(e.bytes), e.used.Format("2006-01-02 15:04:05"), printable.Line(cmp.Or(e.model, "not known")))
	}
	fmt.Fprintf(tw, "%s in %s\n", total(all), printable.Line(c.dir))
	return tw.Flush()
}

// cleaned describes what clean has done.
func cleaned(removed, left []cached) string {
	text := "removed " + total(removed)
	if len(left) > 0 {
		text += "; left " + total(left) + ": in use by ggmlc run"
	}
	return text
}

func total(all []cached) string {
	sum := int64(0)
	for _, e := range all {
		sum += e.bytes
	}
	if len(all) == 1 {
		return "1 program, " + ir.BytesText(sum)
	}
	return fmt.Sprintf("%d programs, %s", len(all), ir.BytesText(sum))
}
