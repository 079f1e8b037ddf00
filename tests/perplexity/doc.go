// Command perplexity measures what weight formats cost a model in accuracy: the perplexity of a llama's text with its
// weights in each format, beside F32. It prints the table of docs/measurements/perplexity.md.
//
//	go run ./tests/perplexity [-model FILE.gguf] [-texts N]
//
// The text is drawn from the model itself in F32, at temperature 1 and from all tokens, with fixed seeds. So the same
// command makes the same text anywhere, and no model predicts it better than F32 on average: the logarithm of the ratio
// of two perplexities estimates their Kullback-Leibler divergence.
//
// Formats with blocks of 256 elements need rows of that length. Where the model's are shorter, its widened copy (see
// widen) has them: a model that computes the same function with rows of 256. Formats with blocks of 32 are measured
// with both.
package main
