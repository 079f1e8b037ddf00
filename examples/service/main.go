// Command service answers HTTP requests with text from a model that is part of it. The
// package stories is made by go generate and not kept in the repository.
package main

//go:generate go tool ggmlc gen ../../cmd/ggmlc/demo/stories.gguf -o stories --package stories --kv f32

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ggmlc/ggmlc/examples/service/stories"
)

func main() {
	addr := flag.String("addr", "localhost:8080", "address to listen on")
	sessions := flag.Int("sessions", 4, "requests that are answered at once; others are told to come back")
	threads := flag.Int("threads", 0, "workers of the model; 0: one for each processor")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, *sessions, *threads); err != nil {
		log.Fatal(err)
	}
}

// run serves until the context ends, and then lets the requests in progress finish.
func run(ctx context.Context, addr string, sessions, threads int) error {
	if sessions < 1 {
		return fmt.Errorf("-sessions %d: at least one is needed", sessions)
	}
	counts := &counts{}
	model, err := stories.Open(stories.Options{Threads: threads, Logger: slog.Default(), Metrics: counts})
	if err != nil {
		return err
	}
	defer model.Close()
	srv := &http.Server{Addr: addr, Handler: newServer(model, sessions, counts), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		done <- srv.Shutdown(grace)
	}()
	log.Printf("listening on http://%s", addr)
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-done
}
