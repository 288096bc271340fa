// Dataset: elements for training, one after another.
//
//   Dataset batches = Dataset::from_tensor_slices({images, labels})
//                         .shuffle(60000, {.seed = 1})
//                         .repeat(5)
//                         .batch(64)
//                         .prefetch(2);
//   DatasetIterator it = batches.iterate();
//   while (auto element = it.next().value()) train((*element)[0], ...);
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rondo/graph/graph.h"
#include "rondo/kernels/cancellation.h"
#include "rondo/train/data/element.h"

namespace rondo {

class DataStage;

// One pass over a data set. One thread at a time asks for elements. Threads
// that work on it end when it is destroyed.
class RONDO_API DatasetIterator {
 public:
  DatasetIterator(std::shared_ptr<const DataStage> stage, uint64_t pass);
  ~DatasetIterator();
  DatasetIterator(DatasetIterator&&) noexcept;
  DatasetIterator& operator=(DatasetIterator&&) noexcept;

  // The next element; none at the end, and ever after. A failure names the
  // stage and the number of its element; asked again, an iterator goes on
  // behind an element that failed.
  NextElement next();
  // From any thread: a next() that waits, and every later one, fails with this
  // reason.
  void cancel(Status reason);
  // What cancel() cancels.
  Cancellation& cancellation();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Gives one element after another, then none.
using DataGenerator = std::function<NextElement()>;
// Begins a pass.
using DataGeneratorMaker = std::function<DataGenerator()>;
// Called by several threads at once where a map has parallel calls. May throw
// rondo::Error.
using ElementFunction = std::function<Result<DataElement>(DataElement)>;
using ElementPredicate = std::function<Result<bool>(const DataElement&)>;
// Builds, in a graph of its own, what becomes of an element's components.
using GraphBuilder =
    std::function<std::vector<Value>(Graph&, const std::vector<Value>&)>;

// What GraphBuilder makes, ready made.
struct GraphFunction {
  std::shared_ptr<Graph> graph;
  std::vector<Value> inputs;  // placeholders
  std::vector<Value> outputs;
};

struct MapOptions {
  // Threads that work on several elements at once; 0: the thread that asks for
  // an element makes it. The order of elements is kept.
  int num_parallel_calls = 0;
};

struct BatchOptions {
  // Whether a last batch that is smaller is left out.
  bool drop_remainder = false;
};

struct PaddedBatchOptions {
  // By component: the shape to pad to, where an unknown extent is the largest
  // in the batch; empty: all unknown.
  std::vector<PartialShape> padded_shapes = {};
  // By component: a scalar of its type; empty: zeros.
  std::vector<Tensor> padding_values = {};
  bool drop_remainder = false;
};

struct ShuffleOptions {
  // None: unpredictable. The same seed gives the same order.
  std::optional<uint64_t> seed = std::nullopt;
  // Whether each repetition, and each pass, has an order of its own.
  bool reshuffle_each_iteration = true;
};

enum class Compression { kNone, kGzip };

struct FixedLengthOptions {
  int64_t record_bytes = 0;
  int64_t header_bytes = 0;  // left out at the start of each file
  int64_t footer_bytes = 0;  // left out at its end
  Compression compression = Compression::kNone;
};

struct InterleaveOptions {
  int cycle_length = 1;  // inputs that are open at once
  int block_length = 1;  // elements that are taken from one in a row
};

// A description: cheap to copy, never changes, and shared freely between
// threads. Wrong arguments throw rondo::Error at the call that is wrong.
class RONDO_API Dataset {
 public:
  // One element.
  static Dataset from_tensors(DataElement element);
  // One element per row of the tensors, all of which have as many; without a
  // copy.
  static Dataset from_tensor_slices(DataElement tensors);
  // i64 scalars from start up (or down) to stop, without it.
  static Dataset range(int64_t stop);
  static Dataset range(int64_t start, int64_t stop, int64_t step = 1);
  // Elements are checked against `types`.
  static Dataset from_generator(DataGeneratorMaker begin, DataTypes types);
  // The paths that match a pattern of the shell's, by name, as vectors of u8.
  // Looks when it is iterated over.
  static Dataset list_files(std::string pattern);
  // Each path as a vector of u8.
  static Dataset paths(const std::vector<std::string>& paths);

  // The records of files, one file after another, as vectors of u8; `paths` are
  // elements of one vector of u8 each. Files are read in pieces.
  // Lines without their ends.
  static Dataset text_line(const Dataset& paths,
                           Compression compression = Compression::kNone);
  static Dataset fixed_length_record(const Dataset& paths,
                                     const FixedLengthOptions& options);
  // TensorFlow's record files; checksums are checked.
  static Dataset tf_record(const Dataset& paths,
                           Compression compression = Compression::kNone);

  // The components side by side; ends with the shortest.
  static Dataset zip(const std::vector<Dataset>& datasets);

  Dataset map(const GraphBuilder& build, MapOptions options = {}) const;
  Dataset map(GraphFunction function, MapOptions options = {}) const;
  // `types` are those of what the function gives, which are checked.
  Dataset map(ElementFunction function, DataTypes types,
              MapOptions options = {}) const;
  // Those elements for which one scalar of bool is true.
  Dataset filter(const GraphBuilder& build) const;
  Dataset filter(GraphFunction function) const;
  Dataset filter(ElementPredicate keep) const;
  // The data sets of all elements, `cycle_length` of them in turn.
  Dataset interleave(std::function<Result<Dataset>(DataElement)> function,
                     DataTypes types, InterleaveOptions options = {}) const;
  // Elements of equal shapes along a new first axis.
  Dataset batch(int64_t batch_size, BatchOptions options = {}) const;
  // The same for elements of other shapes, which are padded at their ends.
  Dataset padded_batch(int64_t batch_size,
                       PaddedBatchOptions options = {}) const;
  // Draws each element from the next `buffer_size`.
  Dataset shuffle(int64_t buffer_size, ShuffleOptions options = {}) const;
  // -1: for ever.
  Dataset repeat(int64_t count = -1) const;
  Dataset take(int64_t count) const;  // -1: all
  Dataset skip(int64_t count) const;  // -1: all
  // Each num_shards-th element, from `index` on.
  Dataset shard(int64_t num_shards, int64_t index) const;
  // A thread makes up to `buffer_size` elements before they are asked for.
  Dataset prefetch(int64_t buffer_size) const;
  // The elements of the other data set after these.
  Dataset concatenate(const Dataset& other) const;

  const DataTypes& types() const;
  // A pass; of passes with other numbers, data sets that shuffle have other
  // orders.
  DatasetIterator iterate(uint64_t pass = 0) const;
  const std::shared_ptr<const DataStage>& stage() const { return stage_; }

 private:
  explicit Dataset(std::shared_ptr<const DataStage> stage)
      : stage_(std::move(stage)) {}

  using StageFunction =
      std::function<Result<DataElement>(DataElement, Cancellation&)>;
  Dataset map_with(StageFunction function, DataTypes types,
                   MapOptions options) const;

  std::shared_ptr<const DataStage> stage_;
};

}  // namespace rondo
