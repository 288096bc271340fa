// Nothing: a target needs a source, and this one is there for its precompiled
// headers.
