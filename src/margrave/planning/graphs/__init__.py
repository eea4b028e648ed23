"""Graphs with public degrees: the spec, which degrees are possible, and the plan (docs/graphs.md)."""
