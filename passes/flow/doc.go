// Package flow answers what several passes ask of a graph: owners of bytes, accesses, work, axes, layouts. It reads
// graphs, and writes only the numbers of splits (splits.go).
//
//   - Bytes: which value owns the bytes that another one names ([Origin], [Origins]), which version of a state a node
//     reads or overwrites ([VersionKey], [Overwritten]), and whether a result may take an operand's bytes ([SameShape]).
//   - Accesses: which nodes touch which bytes, and in which units ([Touches], [Span], [SameOwner]).
//   - Work: how long a node takes ([WorkOf], [NodeWork]) and how often it runs ([StepWeights]).
//   - Structure: splits ([Splits]), copies
//     between spaces ([IsTransfer]), and a module in a few figures ([Measure]).
package flow
