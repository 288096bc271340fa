#include "rondo/graph/ops/io.h"

#include <algorithm>
#include <set>

#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/register.h"

namespace rondo {
namespace {

using Names = std::vector<std::string>;

Status want_bytes(InferContext& c, int i, std::string_view name) {
  if (c.dtype(i) != DType::kU8)
    return error(Code::kInvalidArgument,
                 "input {} ({}) has type {}, expected u8: bytes", i, name,
                 name_of(c.dtype(i)));
  return c.want_rank(i, 1, name);
}

Status check_names(const Names& names) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (name.empty())
      return error(Code::kInvalidArgument, "a tensor's name is empty");
    if (!seen.insert(name).second)
      return error(Code::kInvalidArgument, "two tensors have the name \"{}\"",
                   name);
  }
  return {};
}

Status infer_save(InferContext& c) {
  RONDO_RETURN_IF_ERROR(want_bytes(c, 0, "filename"));
  const auto& names = c.attr<Names>("names");
  if (static_cast<int>(names.size()) != c.inputs() - 1)
    return error(Code::kInvalidArgument, "there are {} tensors and {} names",
                 c.inputs() - 1, names.size());
  return check_names(names);
}

Status infer_restore(InferContext& c) {
  RONDO_RETURN_IF_ERROR(want_bytes(c, 0, "filename"));
  const auto& names = c.attr<Names>("names");
  const auto& dtypes = c.attr<std::vector<DType>>("dtypes");
  const auto& shapes = c.attr<std::vector<PartialShape>>("shapes");
  if (dtypes.size() != names.size() ||
      (!shapes.empty() && shapes.size() != names.size()))
    return error(Code::kInvalidArgument,
                 "there are {} names, but {} dtypes and {} shapes",
                 names.size(), dtypes.size(), shapes.size());
  RONDO_RETURN_IF_ERROR(check_names(names));
  for (size_t i = 0; i < names.size(); ++i)
    c.output(dtypes[i], shapes.empty() ? PartialShape() : shapes[i]);
  return {};
}

Status infer_read_file(InferContext& c) {
  RONDO_RETURN_IF_ERROR(want_bytes(c, 0, "filename"));
  c.output(DType::kU8, {kAny});
  return {};
}

Status infer_write_file(InferContext& c) {
  RONDO_RETURN_IF_ERROR(want_bytes(c, 0, "filename"));
  return want_bytes(c, 1, "contents");
}

}  // namespace

void register_io_ops(OpRegistry& ops) {
  ops.add({.name = "Save",
           .doc = "Writes tensors to a file in the safetensors format, with a "
                  "checksum for each. The file is written aside, synced and "
                  "renamed: under its name it is there whole, or as it was "
                  "before.",
           .inputs = {{"filename", TypeSet::kAnyType, false, 0},
                      {"tensors", TypeSet::kAnyType, true, 0}},
           .attrs = {{"names", Names(), true, "one for each tensor"}},
           .infer = infer_save,
           .constant = true,
           .cost = cost::copied,
           .kind = OpKind::kStateful});
  ops.add({.name = "Restore",
           .doc =
               "Tensors from a file in the safetensors format. Nothing comes "
               "out unless all of them are in the file, of these types and "
               "shapes, and undamaged.",
           .inputs = {{"filename", TypeSet::kAnyType, false, 0}},
           .outputs = {"tensors"},
           .attrs = {{"names", Names(), true, "which tensors"},
                     {"dtypes", std::vector<DType>(), true,
                      "the element type of each"},
                     {"shapes", std::vector<PartialShape>(), false,
                      "the shape of each, as far as known"},
                     {"reshape", false, false,
                      "whether a tensor of another shape will do that has as "
                      "many elements"}},
           .infer = infer_restore,
           .constant = true,
           .cost = cost::copied,
           .kind = OpKind::kStateful});
  ops.add({.name = "ReadFile",
           .doc = "The bytes of a file, as a vector of u8.",
           .inputs = {{"filename", TypeSet::kAnyType, false, 0}},
           .outputs = {"contents"},
           .infer = infer_read_file,
           .constant = true,
           .cost = cost::copied,
           .kind = OpKind::kStateful});
  ops.add({.name = "WriteFile",
           .doc = "Writes bytes, a vector of u8, to a file. The file is there "
                  "whole, or as it was before.",
           .inputs = {{"filename", TypeSet::kAnyType, false, 0},
                      {"contents", TypeSet::kAnyType, false, 0}},
           .infer = infer_write_file,
           .constant = true,
           .cost = cost::copied,
           .kind = OpKind::kStateful});
}

Tensor text_tensor(std::string_view text) {
  Tensor tensor =
      Tensor::empty({static_cast<int64_t>(text.size())}, DType::kU8);
  std::ranges::copy(text, tensor.span<uint8_t>().begin());
  return tensor;
}

Node& save(Value filename, const std::vector<std::string>& names,
           const std::vector<Value>& tensors) {
  std::vector<Value> inputs = {filename};
  inputs.insert(inputs.end(), tensors.begin(), tensors.end());
  return filename.graph().add(
      {.op = "Save", .inputs = std::move(inputs), .attrs = {{"names", names}}});
}

std::vector<Value> restore(Value filename,
                           const std::vector<std::string>& names,
                           RestoreOptions options) {
  Node& node =
      filename.graph().add({.op = "Restore",
                            .inputs = {filename},
                            .attrs = {{"names", names},
                                      {"dtypes", std::move(options.dtypes)},
                                      {"shapes", std::move(options.shapes)},
                                      {"reshape", options.reshape}}});
  std::vector<Value> values;
  for (size_t i = 0; i < names.size(); ++i)
    values.push_back(node.output(static_cast<int>(i)));
  return values;
}

Value read_file(Value filename) { return make("ReadFile", {filename}); }

Node& write_file(Value filename, Value contents) {
  return filename.graph().add(
      {.op = "WriteFile", .inputs = {filename, contents}});
}

}  // namespace rondo
