// Package runtime is linked by emitted programs and generated packages: arenas, workers, weights, sessions, generation,
// and the command line of emitted programs with its commands, such as bench. Of ggmlc it imports ir/dtype, kernels/cpu
// and small packages in its folder only, such as runtime/token, so that a build needs nothing else than the standard
// library. It never walks a graph: the plan is the code of Func.Run, and nothing here depends on the ops that it calls.
//
// # The contract with emitted code
//
// Emitted code declares one Program, whose tables describe functions, sizes and weights. An executable's main calls
// Main(&program); a package calls Open, then NewSession.
//
// One step is one call of Func.Run by each worker of the step, with the same Args and a Worker each. Emitted code
//
//   - divides work by w.Part and w.Parts alone, which are constant during a step but may differ between steps
//     (pace.go);
//   - calls w.Barrier equally often on every worker. Barriers are the only order between workers. The end of a step
//     needs none, as the pool waits for all workers;
//   - may call w.Stop, equally often on every worker and with a Barrier between two calls, and returns when the
//     answer is true. It usually does so once per layer, right after a barrier;
//   - reads sizes from a.Dims, inputs at a.IO and weights at a.Weights. It writes activations at a.Arena, its own
//     scratch at a.Scratch + w.Part*ScratchBytes, state at a.State and outputs at a.IO. All bases, including that of
//     the weights, are aligned to Align bytes;
//   - keeps none of these pointers after it returns, starts no goroutine, and allocates nothing.
//
// The contents of activations and scratch are undefined when a step begins (Options.Poison fills activations with
// NaN). State is zero in a new session. Weights are read-only memory.
//
// # Devices
//
// A Program with Devices has backends besides the CPU. Each is a Device, opened by its Loader. Only worker 0 submits
// their work to a.Queues, in the order of the plan. The work may run until the end of the step is awaited. The
// runtime awaits it before it returns results, and before it begins a step that needs the same memory. During a
// Prefill of several chunks, up to Layout.Pipeline steps are in flight; each has its own Block and its own instance
// of the IO arena. Once a device has failed, all steps of the model return its *FaultError.
//
// # Goroutines
//
// A Model has at most GOMAXPROCS workers. Worker 0 is the goroutine that called the step. After a step the other
// workers spin for some 300 µs and then park, using no processor. A short step runs on worker 0 alone if that is
// measured to be faster (pace.go). Steps of all sessions of a model run one after another, in the order of the calls.
// A waiting caller leaves the queue when its context ends. A Session is for one goroutine at a time.
//
// # Errors
//
// Failures that a caller, a file or a machine can cause are errors, which errors.Is and errors.As can distinguish
// (errors.go). After a failed or cancelled Prefill or Decode, a session has its previous length and may be used
// again. If a worker panics, or touches a page of the weights that is gone, the step returns a *FaultError: its
// barrier is poisoned and all workers leave. The only panic that reaches a caller is that of Open for a Program whose
// tables contradict themselves.
package runtime
