"""Graphs, tensors, variables and sessions; the package rondo has the names."""
