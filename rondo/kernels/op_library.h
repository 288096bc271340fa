// Operations of the user's own in a shared library, loaded at run time.
//
// The library's source, of which there is one RONDO_OP_LIBRARY:
//
//   #include <rondo/kernels/op_library.h>
//   RONDO_OP_LIBRARY(library) {
//     library.add_op({.name = "Cube", .doc = "x³.", .inputs = {{"x"}}, ...});
//     library.add_kernel("Cube", "cpu", rondo::from_function(run_cube));
//   }
//
// It links librondo.so, as programs do, and is loaded by load_op_library.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/op_registry.h"
#include "rondo/kernels/kernel_registry.h"

namespace rondo {

// What a library gives, before it is known to be good.
class RONDO_API OpLibrary {
 public:
  void add_op(OpDef op) { ops_.push_back(std::move(op)); }
  // A kernel for an operation of this library or of another.
  void add_kernel(std::string op, std::string device,
                  KernelRegistry::Make make) {
    kernels_.push_back({std::move(op), std::move(device), std::move(make)});
  }

 private:
  friend class OpLibraryLoader;
  struct KernelEntry {
    std::string op;
    std::string device;
    KernelRegistry::Make make;
  };
  std::vector<OpDef> ops_;
  std::vector<KernelEntry> kernels_;
};

// Changes whenever a library that was compiled before would not fit.
inline constexpr int kOpLibraryVersion = 1;

// Adds the operations and kernels of the shared library at `path` to this
// process, for good: all of them, or on failure none. The names of its
// operations; the same again when it has been loaded before. An error when the
// file cannot be loaded, is no such library or one of another version of Rondo,
// or when a name is taken.
RONDO_API Result<std::vector<std::string>> load_op_library(
    const std::string& path);

}  // namespace rondo

// RONDO_OP_LIBRARY(library) { ... }: what fills the OpLibrary `library` when
// this shared library is loaded. It may throw rondo::Error.
#define RONDO_OP_LIBRARY(library)                                          \
  extern "C" RONDO_API int rondo_op_library_version() {                    \
    return ::rondo::kOpLibraryVersion;                                     \
  }                                                                        \
  extern "C" RONDO_API void rondo_op_library(::rondo::OpLibrary& library); \
  void rondo_op_library(::rondo::OpLibrary& library)
