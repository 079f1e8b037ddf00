package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os/exec"
	"time"
)

// process is what one run of a program gave.
type process struct {
	out, errs []byte
	wall      time.Duration
	first     time.Duration // from the start to the first byte of output
	other     float64       // share of all processors that others used meanwhile
}

// tries of a run that others disturb.
const tries = 3

// runQuietly runs a program; while others use more than the given share of the processors it
// runs again, at most tries times, and the least disturbed run counts.
func runQuietly(ctx context.Context, quiet float64, name string, args ...string) (*process, error) {
	var best *process
	for range tries {
		p, err := runOnce(ctx, name, args...)
		if err != nil {
			return nil, err
		}
		if best == nil || p.other < best.other {
			best = p
		}
		if best.other <= quiet {
			break
		}
		log.Printf("others used %.0f %% of the processors", p.other*100)
		time.Sleep(time.Second)
	}
	return best, nil
}

// firstByte collects what is written and knows when the first byte came. It has no other
// method of bytes.Buffer, as io.Copy would prefer ReadFrom.
type firstByte struct {
	buf bytes.Buffer
	at  time.Time
}

func (b *firstByte) Write(p []byte) (int, error) {
	if b.at.IsZero() {
		b.at = time.Now()
	}
	return b.buf.Write(p)
}

func runOnce(ctx context.Context, name string, args ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out firstByte
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	busy, begin := busyTime(), time.Now()
	err := cmd.Run()
	wall := time.Since(begin)
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, lastBytes(errs.Bytes(), 2000))
	}
	if out.at.IsZero() {
		return nil, fmt.Errorf("%s: it prints nothing\n%s", cmd, lastBytes(errs.Bytes(), 2000))
	}
	own := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return &process{
		out: out.buf.Bytes(), errs: errs.Bytes(), wall: wall, first: out.at.Sub(begin),
		other: othersShare(busyTime()-busy, own, wall),
	}, nil
}

// lastBytes returns at most n bytes of the end.
func lastBytes(b []byte, n int) []byte { return b[max(0, len(b)-n):] }
