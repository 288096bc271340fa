#include "rondo/kernels/op_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

namespace rondo {

// Of one library, up to its registration.
class OpLibraryLoader {
 public:
  explicit OpLibraryLoader(const std::string& path) : path_(path) {}

  Result<std::vector<std::string>> load() {
    // A name without a folder would be looked for among the system's libraries.
    const std::string file = std::filesystem::absolute(path_).string();
    handle_.reset(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!handle_)
      return error(Code::kInvalidArgument, "cannot load {}: {}", path_,
                   ::dlerror());
    OpLibrary library;
    RONDO_RETURN_IF_ERROR(fill(library));
    std::vector<std::string> names;
    for (const OpDef& op : library.ops_) names.emplace_back(op.name);
    if (!was_loaded(library)) {
      RONDO_RETURN_IF_ERROR(check(library));
      (void)handle_.release();  // its code is in use from now on
      enter(library);
    }
    return names;
  }

 private:
  struct Close {
    void operator()(void* handle) const { ::dlclose(handle); }
  };

  Status fill(OpLibrary& library) const {
    using Version = int();
    using Fill = void(OpLibrary&);
    auto* version = reinterpret_cast<Version*>(
        ::dlsym(handle_.get(), "rondo_op_library_version"));
    auto* fill =
        reinterpret_cast<Fill*>(::dlsym(handle_.get(), "rondo_op_library"));
    if (!version || !fill)
      return error(Code::kInvalidArgument,
                   "{} is no library of operations: "
                   "it has no RONDO_OP_LIBRARY",
                   path_);
    if (const int its = version(); its != kOpLibraryVersion)
      return error(Code::kInvalidArgument,
                   "{} was compiled for version {} of Rondo's interface, this "
                   "is version {}: compile it again",
                   path_, its, kOpLibraryVersion);
    try {
      fill(library);
    } catch (const Error& e) {
      return error(e.code(), "{}: {}", path_, e.what());
    } catch (const std::exception& e) {
      return error(Code::kInvalidArgument, "{}: {}", path_, e.what());
    }
    if (library.ops_.empty() && library.kernels_.empty())
      return error(Code::kInvalidArgument,
                   "{}: its RONDO_OP_LIBRARY adds nothing", path_);
    return {};
  }

  // A library that is loaded twice has its code only once.
  static bool was_loaded(const OpLibrary& library) {
    return !library.ops_.empty() &&
           std::ranges::all_of(library.ops_, [](const OpDef& op) {
             const OpDef* known = OpRegistry::process().find(op.name);
             return known && op.infer && known->infer == op.infer &&
                    known->doc.data() == op.doc.data();
           });
  }

  Status check(const OpLibrary& library) const {
    std::set<std::string_view> names;
    for (const OpDef& op : library.ops_) {
      if (op.name.empty() || !op.infer)
        return error(Code::kInvalidArgument,
                     "{}: operation \"{}\" needs a name and an infer function",
                     path_, op.name);
      if (OpRegistry::process().find(op.name) || !names.insert(op.name).second)
        return error(Code::kInvalidArgument,
                     "{}: there is an operation \"{}\" already", path_,
                     op.name);
    }
    std::set<std::pair<std::string, std::string>> kernels;
    for (const auto& kernel : library.kernels_) {
      if (!names.contains(kernel.op) && !OpRegistry::process().find(kernel.op))
        return error(Code::kInvalidArgument,
                     "{}: it has a kernel of \"{}\", which is no operation",
                     path_, kernel.op);
      if (KernelRegistry::process().has(kernel.op, kernel.device) ||
          !kernels.emplace(kernel.op, kernel.device).second)
        return error(Code::kInvalidArgument,
                     "{}: there is a kernel of {} for {} already", path_,
                     kernel.op, kernel.device);
    }
    return {};
  }

  static void enter(OpLibrary& library) {
    for (OpDef& op : library.ops_) OpRegistry::process().add(std::move(op));
    for (auto& kernel : library.kernels_)
      KernelRegistry::process().add(kernel.op, kernel.device,
                                    std::move(kernel.make));
  }

  const std::string path_;
  std::unique_ptr<void, Close> handle_;
};

Result<std::vector<std::string>> load_op_library(const std::string& path) {
  try {
    return OpLibraryLoader(path).load();
  } catch (
      const Error& e) {  // two threads at once, of which the other was first
    return Status(e.code(), e.what());
  } catch (const std::filesystem::filesystem_error& e) {
    return error(Code::kInvalidArgument, "cannot load {}: {}", path, e.what());
  }
}

}  // namespace rondo
