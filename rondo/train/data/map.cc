// A function of each element, and choosing elements by one.
#include "rondo/train/data/stages.h"

namespace rondo {
namespace {

class MapStream final : public DataStream {
 public:
  MapStream(DataStreamPtr input, const StageFunction& function, DataTypes types,
            const DataRun& run)
      : DataStream("map", run),
        input_(std::move(input)),
        function_(function),
        types_(std::move(types)) {}

 protected:
  NextElement produce() override {
    NextElement element = input_->next();
    if (!element.ok() || !*element) return element;
    Result<DataElement> made =
        function_(std::move(**element), *run().cancellation);
    if (made.ok()) {
      const Status fits = check_element(*made, types_);
      if (!fits.ok()) return fault(fits.with_context("what the function gave"));
      return std::optional(std::move(*made));
    }
    return fault(made.status());
  }

 private:
  const DataStreamPtr input_;
  const StageFunction function_;
  const DataTypes types_;
};

class FilterStream final : public DataStream {
 public:
  FilterStream(DataStreamPtr input, const StagePredicate& keep,
               const DataRun& run)
      : DataStream("filter", run), input_(std::move(input)), keep_(keep) {}

 protected:
  NextElement produce() override {
    for (;;) {
      NextElement element = input_->next();
      if (!element.ok() || !*element) return element;
      const Result<bool> kept = keep_(**element, *run().cancellation);
      if (!kept.ok()) return fault(kept.status());
      if (*kept) return element;
    }
  }

 private:
  const DataStreamPtr input_;
  const StagePredicate keep_;
};

}  // namespace

DataStagePtr map_stage(DataStagePtr input, StageFunction function,
                       DataTypes types) {
  DataTypes given = types;
  return make_stage("map", std::move(given),
                    [input = std::move(input), function = std::move(function),
                     types = std::move(types)](const DataRun& run) {
                      return std::make_unique<MapStream>(input->open(run),
                                                         function, types, run);
                    });
}

DataStagePtr filter_stage(DataStagePtr input, StagePredicate keep) {
  DataTypes types = input->types();
  return make_stage(
      "filter", std::move(types),
      [input = std::move(input), keep = std::move(keep)](const DataRun& run) {
        return std::make_unique<FilterStream>(input->open(run), keep, run);
      });
}

}  // namespace rondo
