// Package runtime is what emitted programs and generated packages link: arenas, workers,
// weights, sessions, generation and the emitted program's command line. It imports the
// standard library, runtime/token, runtime/sample, ir/dtype and (for the machine's name
// and peak) kernels/cpu, so that a build needs nothing else. It never walks a graph: the plan is the code of Func.Run, and nothing here
// depends on which ops it calls.
//
// # The contract with emitted code
//
// Emitted code declares one Program, whose tables describe functions, sizes and weights.
// An executable's main calls Main(&program); a package calls Open, then NewSession.
//
// One step is one call of Func.Run by each of the workers of the step, with the same Args
// and a Worker each. Emitted code
//
//   - divides work by w.Part and w.Parts alone, which stay the same during a step but may
//     differ from one step to the next (pace.go);
//   - calls w.Barrier as often on every worker: that is the only order between them. At
//     the end of a step no barrier is needed: the pool waits for all;
//   - may call w.Stop, as often on every worker and with a Barrier between two calls, and
//     returns when it answers true. Once per layer, right after a barrier, is the custom;
//   - reads sizes from a.Dims, inputs at a.IO, weights at a.Weights; writes activations at
//     a.Arena, its own scratch at a.Scratch + w.Part*ScratchBytes, state at a.State,
//     outputs at a.IO. All bases are aligned to Align bytes, weights included;
//   - keeps none of these pointers after it returns, starts no goroutine, and allocates
//     nothing.
//
// Activations and scratch hold anything when a step begins (Options.Poison fills the
// former with NaN). State is zero in a new session. Weights are read-only memory.
//
// # Devices
//
// A Program with Devices has backends besides the processor, each behind a Device that its
// loader opens. Worker 0 submits to a.Queues what they do, in the order of the plan, and
// nobody else does; what it submits may run until the end of the step is waited for,
// which the runtime does before it hands out results or begins a step that needs the room.
// A Prefill of several chunks has up to Layout.Pipeline steps under way: each has its own
// Block and its own instance of the IO arena. Once a device has failed, all steps of the
// model return its *FaultError.
//
// # Goroutines
//
// A Model has at most GOMAXPROCS workers. Worker 0 is the goroutine that asked for the
// step; the others spin for some 300 µs after a step and then park, using no processor.
// A short step runs on worker 0 alone while that is measured to be faster (pace.go).
// Steps of all sessions of a model run one after another, in the order of their calls; a
// caller that waits leaves the queue when its context ends. A Session is for one goroutine
// at a time.
//
// # Errors
//
// What a caller, a file or a machine can cause is an error, one that errors.Is and
// errors.As can tell apart (errors.go). After a failed or cancelled Prefill or Decode a
// session has the length that it had before and may be used again. A worker that panics,
// or touches a page of the weights that is gone, makes the step return a *FaultError: its
// barrier is poisoned and all workers leave. Only a Program that contradicts itself
// panics, in Open.
package runtime
