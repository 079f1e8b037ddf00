package cmd

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// A run holds a shared lock on the folder of its entry from the moment it looks for the program until the program has
// ended. Code that removes entries takes an exclusive lock on each of them, and keeps an entry that it fails to lock.
//
// Both first lock the folder of the cache, alone: a run while it finds and locks its entry, and what removes entries
// while it does so. So no entry is removed that a run has found and not locked yet.
//
// Locks are of open files. The system releases those of a process that crashes.

// lockKind is who may hold a lock at the same time.
type lockKind int

const (
	shared lockKind = iota // any number of holders
	alone                  // one holder
)

// lockRetry is the time between two attempts to lock the cache. Runs hold that lock for milliseconds.
const lockRetry = 10 * time.Millisecond

// lock locks the folder of the cache alone. Closing the file releases the lock. The error is fs.ErrNotExist if there is
// no cache.
func (c cache) lock(ctx context.Context) (*os.File, error) {
	for {
		f, held, err := lockFolder(c.dir, alone)
		if err != nil {
			return nil, err
		}
		if held && isFolder(f, c.dir) {
			return f, nil
		}
		f.Close() // another process has the lock, or has removed this folder
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockRetry):
		}
	}
}

// isFolder reports whether an open folder still has the path under which it was opened.
func isFolder(f *os.File, path string) bool {
	if f == nil { // no locks on this system
		return true
	}
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(opened, now)
}

// makeAttempts limits how often lockMade makes a cache that others remove.
const makeAttempts = 100

// lockMade is lock, and makes the cache if there is none.
func (c cache) lockMade(ctx context.Context) (*os.File, error) {
	for n := 1; ; n++ {
		err := c.make()
		var f *os.File
		if err == nil {
			f, err = c.lock(ctx)
		}
		if !errors.Is(err, fs.ErrNotExist) || n == makeAttempts {
			return f, err
		}
	}
}

// use makes the folder of an entry and locks it until the file is closed. The caller holds the lock of the cache.
func (c cache) use(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, _, err := lockFolder(dir, shared) // it is free, as what removes entries locks the cache first
	return f, err
}

// inUse reports whether a run uses an entry.
func inUse(dir string) bool {
	f, held, err := lockFolder(dir, alone)
	f.Close()
	return err == nil && !held
}

// unused returns the entries that no run uses, and the others.
func unused(all []cached) (free, used []cached) {
	for _, e := range all {
		if inUse(e.dir) {
			used = append(used, e)
		} else {
			free = append(free, e)
		}
	}
	return free, used
}

// drop removes the folder of an entry that could not be compiled, unless it has files or another run uses it.
func (c cache) drop(ctx context.Context, dir string) {
	f, err := c.lock(ctx)
	if err != nil {
		return
	}
	defer f.Close()
	if !inUse(dir) {
		os.Remove(dir)
	}
}
