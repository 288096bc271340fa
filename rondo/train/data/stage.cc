#include "rondo/train/data/stage.h"

namespace rondo {
namespace {

class FunctionStage final : public DataStage {
 public:
  FunctionStage(std::string_view name, DataTypes types, OpenStage open)
      : DataStage(name, std::move(types)), open_(std::move(open)) {}

  DataStreamPtr open(const DataRun& run) const override { return open_(run); }

 private:
  const OpenStage open_;
};

}  // namespace

DataStagePtr make_stage(std::string_view name, DataTypes types,
                        OpenStage open) {
  return std::make_shared<FunctionStage>(name, std::move(types),
                                         std::move(open));
}

Status check_element(const DataElement& element, const DataTypes& types) {
  if (element.size() != types.size())
    return error(Code::kInvalidArgument, "it has {} components, expected {}",
                 element.size(), types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const Tensor& tensor = element[i];
    if (tensor.dtype() != types[i].dtype)
      return error(Code::kInvalidArgument,
                   "component {} has elements of {}, expected {}", i,
                   name_of(tensor.dtype()), name_of(types[i].dtype));
    if (!types[i].shape.compatible(PartialShape(tensor.shape())))
      return error(Code::kInvalidArgument,
                   "component {} has shape {}, expected {}", i,
                   tensor.shape().to_string(), types[i].shape.to_string());
  }
  return {};
}

PartialShape relaxed(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return {};
  PartialShape shape = a;
  for (int i = 0; i < a.rank(); ++i)
    if (a[i] != b[i]) shape.set(i, kAny);
  return shape;
}

PartialShape with_front(int64_t extent, const PartialShape& shape) {
  if (!shape.has_rank()) return {};
  std::vector<int64_t> extents = {extent};
  extents.insert(extents.end(), shape.extents().begin(), shape.extents().end());
  return PartialShape(std::move(extents));
}

}  // namespace rondo
