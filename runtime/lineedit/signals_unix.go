//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lineedit

import (
	"os"
	"os/signal"
	"syscall"
	"time"
	"unsafe"
)

// signals are those of the process that change the mode of its terminal.
type signals struct {
	ends  chan os.Signal // caught in the mode of single keys
	stops chan os.Signal
	conts chan os.Signal
	quit  chan struct{}
}

// watch begins to handle signals: Ctrl-Z also where a parent process ignores it, of which os/signal tells nothing.
func (t *Terminal) watch() *signals {
	one := func() chan os.Signal { return make(chan os.Signal, 1) }
	s := &signals{one(), one(), one(), make(chan struct{})}
	signal.Notify(s.stops, syscall.SIGTSTP)
	signal.Notify(s.conts, syscall.SIGCONT)
	go t.handleEnds(s)
	go t.handleStops(s)
	return s
}

// catchEnds catches the signals that end the process. In the terminal's own mode they are not caught: a process that is
// stopped in the background soon stops again, at its next read, and has to end before.
func (s *signals) catchEnds() {
	signal.Notify(s.ends, syscall.SIGTERM, syscall.SIGQUIT)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signal.Notify(s.ends, syscall.SIGHUP)
	}
}

func (s *signals) releaseEnds() { signal.Stop(s.ends) }

func (s *signals) close() {
	signal.Stop(s.stops)
	signal.Stop(s.conts)
	close(s.quit)
}

// endPatience is how long a terminal that takes no output delays the end of the process.
const endPatience = time.Second

// handleEnds closes the terminal when a signal ends the process, and then sends that signal again: the exit status is
// that of the signal.
func (t *Terminal) handleEnds(s *signals) {
	select {
	case <-s.quit:
	case sig := <-s.ends:
		closed := make(chan struct{})
		go func() {
			t.Close()
			close(closed)
		}()
		select {
		case <-closed:
		case <-time.After(endPatience):
		}
		signal.Reset(sig)
		syscall.Kill(syscall.Getpid(), sig.(syscall.Signal))
	}
}

// handleStops stops the process at Ctrl-Z, and sets the mode when it continues.
func (t *Terminal) handleStops(s *signals) {
	for {
		select {
		case <-s.quit:
			return
		case <-s.stops:
			t.suspend(s.stop)
		case <-s.conts:
			t.continued()
		}
	}
}

// stop stops the process and returns when it continues. It sends SIGTTIN: Go's runtime keeps its handler of a SIGTSTP
// that was caught once, so that this signal does not stop the process any more. As SIGTSTP, and unlike SIGSTOP, it has
// no effect where no shell could continue the process. The other processes of a pipeline got Ctrl-Z themselves.
func (s *signals) stop() {
	select {
	case <-s.conts: // an earlier one
	default:
	}
	syscall.Kill(syscall.Getpid(), syscall.SIGTTIN)
	for range 10 { // waits, as the time of a stop counts: one would end with it, before SIGCONT is received
		select {
		case <-s.conts:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// inBackground reports whether a terminal belongs to another group of processes. Its mode is not ours then, and to
// change it would stop the process.
func inBackground(f *os.File) bool {
	var group int32
	err := ioctl(f, syscall.TIOCGPGRP, unsafe.Pointer(&group))
	return err == nil && int(group) != syscall.Getpgrp()
}
