package irtest

// Modules with properties that random ones rarely have. Their programs are run and read back.

// Experts is the feed-forward block of a mixture of experts, with quantized matrices, and a
// product that reads a copy of the chosen experts.
const Experts = `source m "none" 0
symbol tokens 1 9
weight "router" : f32[6,64] = m["router"]
weight "gate" : q8_0[6,96,64] = m["gate"]
weight "up" : q8_0[6,96,64] = m["up"]
weight "down" : q4_0[6,40,96] = m["down"]
weight "f16" : f16.r16[6,40,64] = pack(m["f16"], r16)
func @moe(%x: f32[tokens,64]) -> (y: f32[tokens,40]) {
  %router = weight "router"
  %logits = matmul %x, %router
  %idx = top_k %logits {k=2}
  %chosen = take %logits, %idx
  %p = softmax %chosen
  %rows = reshape %x {shape=[tokens,1,64]}
  %gate = weight "gate"
  %up = weight "up"
  %down = weight "down"
  %g = experts_matmul %rows, %gate, %idx
  %u = experts_matmul %rows, %up, %idx
  %h = swiglu %g, %u
  %d = experts_matmul %h, %down, %idx
  %y = experts_sum %d, %p
  return %y
}
func @copied(%x: f32[3,2,64], %idx: i32[3,2]) -> (y: f32[3,2,40]) {
  %w = weight "f16"
  %c = copy_experts %w, %idx
  %y = experts_matmul %x, %c, %idx
  return %y
}
`

// FarExperts is a product with matrices in the host's memory, of which only the chosen ones are copied.
const FarExperts = `source m "none" 0
weight "f16" : f16.r16[6,40,64] @host = pack(m["f16"], r16)
func @far(%x: f32[1,1,64], %idx: i32[1,2]) -> (y: f32[1,2,40]) {
  %w = weight "f16"
  %y = experts_matmul %x, %w, %idx
  return %y
}
`

// Tails is products that are long enough for a dynamic share. Two of them are in consecutive epochs,
// the first with a node that is computed with it granule by granule.
const Tails = `source m "none" 0
weight "up" : f32.r16[4096,1024] = pack(m["up"], r16)
weight "down" : f32.r16[1024,4096] = pack(m["down"], r16)
func @tails(%x: f32[1,1024]) -> (y: f32[1,1024]) {
  %up = weight "up"
  %down = weight "down"
  %u = matmul %x, %up
  %h = silu %u
  %y = matmul %h, %down
  return %y
}
`

// HeadTails is a product by columns and a rotation of its heads, one with 64 columns and one with a
// single one.
const HeadTails = `source m "none" 0
weight "up" : f32.r16[4096,1024] = pack(m["up"], r16)
func @tails(%x: f32[1,1024], %r: f32[1,32,2]) -> (y: f32[1,64,64]) {
  %up = weight "up"
  %u = matmul %x, %up
  %h = reshape %u {shape=[1,64,64]}
  %y = rope %h, %r
  return %y
}
`

// MovedTails is a product that is moved after another one of its epoch because it has a dynamic share.
// The other one's weight then immediately follows the dynamic share of the previous epoch.
const MovedTails = `source m "none" 0
weight "up" : f32.r16[4096,1024] = pack(m["up"], r16)
weight "down" : f32.r16[1024,4096] = pack(m["down"], r16)
weight "few" : f32.r16[64,4096] = pack(m["few"], r16)
func @tails(%x: f32[1,1024]) -> (y: f32[1,1024], z: f32[1,64]) {
  %up = weight "up"
  %u = matmul %x, %up
  %down = weight "down"
  %y = matmul %u, %down
  %few = weight "few"
  %z = matmul %u, %few
  return %y, %z
}
`

// LongAttention has attention over a context of five segments: for one token and for three, which use
// segments, and for a prompt, which does not.
const LongAttention = `symbol tokens 1 8
func @one(%q: f32[1,4,64], %k: f16[1,2,2100,64], %v: f16[1,2,2100,64], %slot: i32[1], %pos: i32[1], %n: i32[1]) -> (y: f32[1,4,64]) {
  %y = attention %q, %k, %v, %slot, %pos, %n {scale=0.125}
  return %y
}
func @three(%q: f32[3,4,64], %k: f16[1,2,2100,64], %v: f16[1,2,2100,64], %slot: i32[3], %pos: i32[3], %n: i32[1]) -> (y: f32[3,4,64]) {
  %y = attention %q, %k, %v, %slot, %pos, %n {scale=0.125}
  return %y
}
func @prompt(%q: f32[tokens,4,64], %k: f16[1,2,2100,64], %v: f16[1,2,2100,64], %slot: i32[tokens], %pos: i32[tokens], %n: i32[1]) -> (y: f32[tokens,4,64]) {
  %y = attention %q, %k, %v, %slot, %pos, %n {scale=0.125}
  return %y
}
`
