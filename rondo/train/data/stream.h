// DataStream: one pass over a stage of a data set, while it goes on.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "rondo/kernels/cancellation.h"
#include "rondo/train/data/element.h"

namespace rondo {

// What the streams of one pass share.
struct DataRun {
  // Ends all waits and long loops; outlives the streams.
  Cancellation* cancellation = nullptr;
  // Which pass over the data this is: stages that shuffle draw other numbers in
  // each.
  uint64_t pass = 0;

  // The run of repetition k of what this run repeats.
  DataRun repetition(uint64_t k) const;
};

// Elements that can be had in any order, from any thread.
class DataRows {
 public:
  virtual int64_t rows() const = 0;
  virtual DataElement row(int64_t i) const = 0;

 protected:
  ~DataRows() = default;
};

// Gives its elements one after another to one thread at a time; streams with
// threads of their own end them when they are destroyed. After the end there is
// no more; after a failure the next element may be a good one.
class DataStream {
 public:
  DataStream(std::string_view stage, const DataRun& run)
      : stage_(stage), run_(run) {}
  virtual ~DataStream() = default;
  DataStream(const DataStream&) = delete;
  DataStream& operator=(const DataStream&) = delete;

  // Failures name the stage that they come from, and which of its elements.
  NextElement next();
  // The elements of a stream that knows them all; nullptr for others. Good as
  // long as the stream.
  virtual const DataRows* rows() const { return nullptr; }

 protected:
  // May throw rondo::Error.
  virtual NextElement produce() = 0;
  // A failure of this stage itself, at the element that it was to give now.
  Status fault(const Status& status);
  const DataRun& run() const { return run_; }
  bool cancelled() const { return run_.cancellation->cancelled(); }
  Status cancel_reason() const { return run_.cancellation->reason(); }

 private:
  const std::string_view stage_;  // a literal
  const DataRun run_;
  int64_t number_ = 0;  // of the next element
};

using DataStreamPtr = std::unique_ptr<DataStream>;

// A failure of element `number` of a stage.
Status stage_fault(std::string_view stage, int64_t number,
                   const Status& status);

}  // namespace rondo
