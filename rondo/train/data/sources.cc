// Elements from memory, counting, or a function.
#include "rondo/train/data/component.h"
#include "rondo/train/data/stages.h"

namespace rondo {
namespace {

DataTypes types_of(const DataElement& element) {
  DataTypes types;
  types.reserve(element.size());
  for (const Tensor& tensor : element)
    types.push_back({tensor.dtype(), PartialShape(tensor.shape())});
  return types;
}

class TensorsStage final : public DataStage {
 public:
  explicit TensorsStage(DataElement element)
      : DataStage("from_tensors", types_of(element)),
        element_(std::move(element)) {}

  DataStreamPtr open(const DataRun& run) const override {
    return std::make_unique<Stream>(*this, run);
  }

 private:
  class Stream final : public DataStream {
   public:
    Stream(const TensorsStage& stage, const DataRun& run)
        : DataStream(stage.name(), run), stage_(stage) {}

   protected:
    NextElement produce() override {
      if (given_) return std::optional<DataElement>();
      given_ = true;
      return std::optional(stage_.element_);
    }

   private:
    const TensorsStage& stage_;
    bool given_ = false;
  };

  const DataElement element_;
};

DataTypes row_types(const DataElement& tensors) {
  DataTypes types = types_of(tensors);
  for (TensorType& type : types) {
    const auto extents = type.shape.extents();
    if (extents.empty())
      throw Error(Code::kInvalidArgument,
                  "Dataset.from_tensor_slices: a scalar has no rows");
    type.shape =
        PartialShape(std::vector<int64_t>(extents.begin() + 1, extents.end()));
  }
  return types;
}

class SlicesStage final : public DataStage, private DataRows {
 public:
  explicit SlicesStage(DataElement tensors)
      : DataStage("from_tensor_slices", row_types(tensors)) {
    if (tensors.empty())
      throw Error(Code::kInvalidArgument,
                  "Dataset.from_tensor_slices: there are no tensors");
    rows_ = tensors[0].shape()[0];
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].shape()[0] != rows_)
        throw Error(
            Code::kInvalidArgument,
            fmt::format("Dataset.from_tensor_slices: component {} has {} rows, "
                        "component 0 has {}",
                        i, tensors[i].shape()[0], rows_));
      Column column;
      column.dtype = tensors[i].dtype();
      column.row = types()[i].shape.to_shape();
      column.bytes =
          static_cast<size_t>(column.row.count()) * size_of(column.dtype);
      column.tensor = std::make_shared<Tensor>(std::move(tensors[i]));
      columns_.push_back(std::move(column));
    }
  }

  DataStreamPtr open(const DataRun& run) const override {
    return std::make_unique<Stream>(*this, run);
  }

 private:
  struct Column {
    // Rows share it, and so see that they are not alone with their memory.
    std::shared_ptr<Tensor> tensor;
    DType dtype;
    Shape row;
    size_t bytes;
  };

  class Stream final : public DataStream {
   public:
    Stream(const SlicesStage& stage, const DataRun& run)
        : DataStream(stage.name(), run), stage_(stage) {}
    const DataRows* rows() const override { return &stage_; }

   protected:
    NextElement produce() override {
      if (row_ == stage_.rows_) return std::optional<DataElement>();
      return std::optional(stage_.row(row_++));
    }

   private:
    const SlicesStage& stage_;
    int64_t row_ = 0;
  };

  int64_t rows() const override { return rows_; }
  DataElement row(int64_t i) const override {
    DataElement element;
    element.reserve(columns_.size());
    for (const Column& column : columns_) {
      auto* at = static_cast<char*>(column.tensor->data()) +
                 static_cast<size_t>(i) * column.bytes;
      element.push_back(Tensor::adopt(std::shared_ptr<void>(column.tensor, at),
                                      column.dtype, column.row));
    }
    return element;
  }

  int64_t rows_ = 0;
  std::vector<Column> columns_;
};

class RangeStage final : public DataStage {
 public:
  RangeStage(int64_t start, int64_t stop, int64_t step)
      : DataStage("range", {{DType::kI64, PartialShape::scalar()}}),
        start_(start),
        stop_(stop),
        step_(step) {
    if (step == 0)
      throw Error(Code::kInvalidArgument, "Dataset.range: the step is 0");
  }

  DataStreamPtr open(const DataRun& run) const override {
    return std::make_unique<Stream>(*this, run);
  }

 private:
  class Stream final : public DataStream {
   public:
    Stream(const RangeStage& stage, const DataRun& run)
        : DataStream(stage.name(), run), stage_(stage), at_(stage.start_) {}

   protected:
    NextElement produce() override {
      if (over_ ||
          (stage_.step_ > 0 ? at_ >= stage_.stop_ : at_ <= stage_.stop_))
        return std::optional<DataElement>();
      DataElement element = {new_component(DType::kI64, {})};
      element[0].span<int64_t>()[0] = at_;
      over_ = __builtin_add_overflow(at_, stage_.step_, &at_);
      return std::optional(std::move(element));
    }

   private:
    const RangeStage& stage_;
    int64_t at_;
    bool over_ = false;
  };

  const int64_t start_;
  const int64_t stop_;
  const int64_t step_;
};

class GeneratorStage final : public DataStage {
 public:
  GeneratorStage(DataGeneratorMaker begin, DataTypes types)
      : DataStage("from_generator", std::move(types)),
        begin_(std::move(begin)) {}

  DataStreamPtr open(const DataRun& run) const override {
    return std::make_unique<Stream>(*this, run);
  }

 private:
  class Stream final : public DataStream {
   public:
    Stream(const GeneratorStage& stage, const DataRun& run)
        : DataStream(stage.name(), run), stage_(stage) {}

   protected:
    NextElement produce() override {
      if (over_) return std::optional<DataElement>();
      if (!generator_) generator_ = stage_.begin_();
      NextElement element = generator_();
      if (!element.ok()) return fault(element.status());
      over_ = !*element;
      if (over_) return element;
      if (const Status s = check_element(**element, stage_.types()); !s.ok())
        return fault(s);
      return element;
    }

   private:
    const GeneratorStage& stage_;
    DataGenerator generator_;
    bool over_ = false;
  };

  const DataGeneratorMaker begin_;
};

}  // namespace

DataStagePtr tensors_stage(DataElement element) {
  return std::make_shared<TensorsStage>(std::move(element));
}

DataStagePtr slices_stage(DataElement tensors) {
  return std::make_shared<SlicesStage>(std::move(tensors));
}

DataStagePtr range_stage(int64_t start, int64_t stop, int64_t step) {
  return std::make_shared<RangeStage>(start, stop, step);
}

DataStagePtr generator_stage(DataGeneratorMaker begin, DataTypes types) {
  return std::make_shared<GeneratorStage>(std::move(begin), std::move(types));
}

}  // namespace rondo
