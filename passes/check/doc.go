// Package check proves a finished plan without trusting anything that made it: order, bytes, barriers, queues, copies.
//
// It knows what ops do (the op table of package ir), what backends can do (package passes/target) and what a plan
// records (docs/explanation/plan.md): an order, a partition and an epoch for each node, an address for each value. It
// shares no code with the passes that decide. What it cannot prove is an error.
//
// # What a wrong plan looks like
//
// The example has two workers. The axis of 64 columns is divided into units of 16, so worker 0 owns columns 0 to 31
// and worker 1 owns columns 32 to 63:
//
//	epoch 0   %a = silu %x           part=split(1, 64, 16) at 0x000+256
//	epoch 0   %b = neg %a            part=split(1, 64, 16) at 0x000+256
//	epoch 1   %c = softmax %b        part=one              at 0x100+256
//	epoch 1   %y = add %c, %x        part=one              at 0x200+256
//
// This plan is right. %b takes the bytes of %a, which is not read again. No barrier is needed before %b, as each worker
// reads only columns that it wrote itself. Each change of one detail makes the plan wrong, and breaks another claim:
//
//   - %b at 0x80: %b overwrites half of its operand before that is read (overlap)
//   - %y reads %a instead of %x: it finds %b at 0x0 (reads)
//   - %b in one unit of 64 columns: worker 1 computes it, and reads columns that worker 0 may not have written yet
//     (hazard)
//   - %c in epoch 0: worker 0 reads all of %b, and worker 1 may not have written its columns yet (hazard)
//   - %y at 0x201: its kernel loads aligned vectors (align)
//
// # The argument
//
// A call of an entry point is laid out as one sequence of steps (trace.go, expand.go). The proof has three parts:
//
//  1. Executed one after the other, the steps compute what the program defines: every read finds the version of the
//     value that it names (reads.go), and no step destroys bytes that are read later (overlap.go).
//  2. Workers run the steps between two barriers in any order. That changes nothing, because no worker touches there
//     what another one writes (hazard.go).
//  3. Queues run beside the host. That changes nothing, because two accesses to the same bytes of which one writes are
//     ordered by events (race.go).
//
// The three parts see the same steps in the same order, but know different things: reads.go and overlap.go know what
// bytes hold and nothing of workers, hazard.go knows the accesses since the last barrier, race.go knows what is over
// for each queue.
//
// So every order in which the steps may run gives the result of the program's order. With several calls under way at
// once, consecutive calls are laid out (instance.go), and the argument covers all of them.
//
// Sizes are the upper bounds of symbols where bytes are compared: a value's bytes at any size are a prefix of those.
// Owners are compared symbolically (owner.go): the proof holds for all sizes and all numbers of workers up to
// ir.Plan.Workers.
//
// # The claims
//
//   - address, align (address.go, leaf.go): each address is inside a chunk of the right arena, and aligned
//   - partition (partition.go): every node is computed by workers, completely, in pieces that its kernel can compute
//   - reach, kernel (reach.go): every node can address its operands, and has a kernel that reads them as they are
//   - copy (copies.go): every copy moves the bytes that it names, to the address that it names
//   - queue (queue.go): every node is on the queue that can run it, and waits for events that exist
//   - reads (reads.go): every read finds the version that it names, in the order of the program
//   - overlap (overlap.go): nothing is overwritten that is read later
//   - hazard (hazard.go): between two barriers no worker touches what another one writes
//   - race (race.go): conflicting accesses of two queues, or of a queue and the host, are ordered by events
//
// Read check.go first, then the claims in this order.
package check
