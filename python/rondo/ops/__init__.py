"""Operations, a module for each family; the package rondo has the names."""
