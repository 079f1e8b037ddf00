package main

func generateVectors(g *generator)   {}
func generateQuantize(g *generator)  {}
func generateAttention(g *generator) {}
