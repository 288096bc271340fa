#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "rondo/base/new_file.h"
#include "rondo/kernels/cpu/register.h"
#include "rondo/kernels/file_threads.h"
#include "rondo/tensor/safetensors.h"

namespace rondo {
namespace {

// Messages name so many tensors of each kind at most.
constexpr size_t kNamed = 4;

Result<std::string> filename_of(const Tensor& t) {
  const auto bytes = t.span<uint8_t>();
  std::string name(bytes.begin(), bytes.end());
  if (name.empty())
    return error(Code::kInvalidArgument, "the file's name is empty");
  if (name.find('\0') != std::string::npos)
    return error(Code::kInvalidArgument, "the file's name has a 0 in it");
  return name;
}

// Long transfers end when the run is cancelled or its time is up.
StopCheck stop_of(KernelContext& c) {
  return [&cancellation = c.cancellation()]() {
    return cancellation.cancelled() ? cancellation.reason() : Status();
  };
}

class Save final : public FileKernel {
 public:
  Save(const Node& node, Resources& resources)
      : FileKernel(resources),
        names_(node.attrs().get<std::vector<std::string>>("names")) {}

 private:
  Status transfer(KernelContext& c) override {
    RONDO_ASSIGN_OR_RETURN(const std::string path, filename_of(c.input(0)));
    std::vector<NamedTensor> tensors;
    tensors.reserve(names_.size());
    for (size_t i = 0; i < names_.size(); ++i)
      tensors.push_back({names_[i], c.input(static_cast<int>(i) + 1)});
    return write_safetensors(path, tensors, {{"format", "rondo"}}, stop_of(c));
  }

  const std::vector<std::string> names_;
};

// "\"a\", \"b\" and 7 more".
std::string some_of(const std::vector<std::string>& names) {
  const size_t n = std::min(names.size(), kNamed);
  std::string text;
  for (size_t i = 0; i < n; ++i)
    text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", names[i]);
  if (names.size() > n) text += fmt::format(" and {} more", names.size() - n);
  return text;
}

// That every name is in the file, or which are not, and what is there instead.
Status check_names(const SafetensorsFile& file,
                   const std::vector<std::string>& names) {
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (!file.find(name)) missing.push_back(name);
  if (missing.empty()) return {};
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  std::vector<std::string> surplus;
  for (const SafetensorsEntry& entry : file.entries())
    if (!std::ranges::binary_search(sorted, entry.name))
      surplus.push_back(entry.name);
  return error(Code::kInvalidArgument,
               "{} is of another model: {} of {} tensors are not in it: {}; {}",
               file.path(), missing.size(), names.size(), some_of(missing),
               surplus.empty() ? "nothing else is in it"
                               : fmt::format("in it and not asked for are {}",
                                             some_of(surplus)));
}

class Restore final : public FileKernel {
 public:
  Restore(const Node& node, Resources& resources)
      : FileKernel(resources),
        names_(node.attrs().get<std::vector<std::string>>("names")),
        reshape_(node.attrs().get<bool>("reshape")) {
    for (const TensorType& type : node.outputs()) types_.push_back(type);
  }

 private:
  // All is checked that can be without the data before anything is allocated.
  Status transfer(KernelContext& c) override {
    RONDO_ASSIGN_OR_RETURN(const std::string path, filename_of(c.input(0)));
    RONDO_ASSIGN_OR_RETURN(const auto file, SafetensorsFile::open(path));
    RONDO_RETURN_IF_ERROR(check_names(file, names_));
    std::vector<const SafetensorsEntry*> entries;
    for (size_t i = 0; i < names_.size(); ++i) {
      entries.push_back(file.find(names_[i]));
      RONDO_RETURN_IF_ERROR(check(path, *entries.back(), types_[i]));
    }
    const StopCheck stop = stop_of(c);
    for (size_t i = 0; i < names_.size(); ++i) {
      const bool other = !types_[i].shape.compatible(entries[i]->shape);
      Tensor& tensor =
          c.allocate(static_cast<int>(i), types_[i].dtype,
                     other ? types_[i].shape.to_shape() : entries[i]->shape);
      RONDO_RETURN_IF_ERROR(file.read(*entries[i], tensor.data(), stop));
    }
    return {};
  }

  Status check(const std::string& path, const SafetensorsEntry& entry,
               const TensorType& type) const {
    const bool fits = type.shape.compatible(entry.shape) ||
                      (reshape_ && type.shape.known() &&
                       type.shape.count() == entry.shape.count());
    if (entry.dtype == type.dtype && fits) return {};
    return error(
        Code::kInvalidArgument,
        "{} is of another model: tensor \"{}\" is {} {} in it, expected {} {}",
        path, entry.name, entry.dtype ? name_of(*entry.dtype) : entry.type,
        entry.shape.to_string(), name_of(type.dtype), type.shape.to_string());
  }

  const std::vector<std::string> names_;
  const bool reshape_;
  std::vector<TensorType> types_;
};

Status read_file(KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(const std::string path, filename_of(c.input(0)));
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return errno_error(file_error_code(errno), errno,
                       fmt::format("cannot open {}", path));
  const std::unique_ptr<const int, void (*)(const int*)> close(
      &file, [](const int* f) { ::close(*f); });
  struct stat info {};
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
    return error(Code::kInvalidArgument, "{} is a folder or device", path);
  Tensor& contents = c.allocate(0, DType::kU8, {info.st_size});
  auto* at = static_cast<char*>(contents.data());
  for (size_t left = contents.bytes(); left > 0;) {
    if (c.cancellation().cancelled()) return c.cancellation().reason();
    const ssize_t n = ::read(file, at, std::min<size_t>(left, 1 << 24));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return errno_error(Code::kResource, errno,
                         fmt::format("cannot read {}", path));
    if (n == 0)
      return error(Code::kInvalidArgument,
                   "{} became shorter while it was read", path);
    at += n;
    left -= static_cast<size_t>(n);
  }
  return {};
}

Status write_file(KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(const std::string path, filename_of(c.input(0)));
  NewFile file(path);
  RONDO_RETURN_IF_ERROR(file.write(c.input(1).data(), c.input(1).bytes()));
  return file.commit();
}

// Of a function that needs nothing but its inputs.
template <Status (*kTransfer)(KernelContext&)>
class PlainFile final : public FileKernel {
 public:
  PlainFile(const Node& /*node*/, Resources& resources)
      : FileKernel(resources) {}

 private:
  Status transfer(KernelContext& c) override { return kTransfer(c); }
};

}  // namespace

void register_io_kernels(KernelRegistry& kernels) {
  kernels.add("Save", "cpu", from_class<Save>());
  kernels.add("Restore", "cpu", from_class<Restore>());
  kernels.add("ReadFile", "cpu", from_class<PlainFile<read_file>>());
  kernels.add("WriteFile", "cpu", from_class<PlainFile<write_file>>());
}

}  // namespace rondo
