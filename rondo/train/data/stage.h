// DataStage: one stage of a data set's description.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "rondo/train/data/stream.h"

namespace rondo {

// Fixed when it is made, and shared by the data sets that are built on it and
// by the streams that run it. Any thread.
class DataStage {
 public:
  // `name`, a literal, is the function of Dataset that made it.
  DataStage(std::string_view name, DataTypes types)
      : name_(name), types_(std::move(types)) {}
  virtual ~DataStage() = default;
  DataStage(const DataStage&) = delete;
  DataStage& operator=(const DataStage&) = delete;

  std::string_view name() const { return name_; }
  const DataTypes& types() const { return types_; }
  // Quick; what takes time happens when the first element is asked for. The
  // caller keeps the stage for as long as the stream.
  virtual DataStreamPtr open(const DataRun& run) const = 0;

 private:
  const std::string_view name_;
  const DataTypes types_;
};

using DataStagePtr = std::shared_ptr<const DataStage>;
using OpenStage = std::function<DataStreamPtr(const DataRun&)>;

// A stage that is no more than how its streams are opened.
DataStagePtr make_stage(std::string_view name, DataTypes types, OpenStage open);

// Whether an element is of these types; if not, which component is of others.
Status check_element(const DataElement& element, const DataTypes& types);
// What is known of tensors that have one of both shapes.
PartialShape relaxed(const PartialShape& a, const PartialShape& b);
// The shape with an extent in front.
PartialShape with_front(int64_t extent, const PartialShape& shape);

}  // namespace rondo
