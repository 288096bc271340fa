// The stages that Dataset puts together, one maker each. Arguments have not
// been checked: makers throw rondo::Error.
#pragma once

#include "rondo/train/data/stage.h"
#include "rondo/train/dataset.h"

namespace rondo {

// As those of Dataset; what may take long ends when it is cancelled.
using StageFunction =
    std::function<Result<DataElement>(DataElement, Cancellation&)>;
using StagePredicate =
    std::function<Result<bool>(const DataElement&, Cancellation&)>;

// sources.cc
DataStagePtr tensors_stage(DataElement element);
DataStagePtr slices_stage(DataElement tensors);
DataStagePtr range_stage(int64_t start, int64_t stop, int64_t step);
DataStagePtr generator_stage(DataGeneratorMaker begin, DataTypes types);
// files.cc
DataStagePtr list_files_stage(std::string pattern);
DataStagePtr paths_stage(const std::vector<std::string>& paths);
DataStagePtr text_line_stage(DataStagePtr paths, Compression compression);
DataStagePtr fixed_length_stage(DataStagePtr paths,
                                const FixedLengthOptions& options);
DataStagePtr tf_record_stage(DataStagePtr paths, Compression compression);
// map.cc and parallel_map.cc
DataStagePtr map_stage(DataStagePtr input, StageFunction function,
                       DataTypes types);
DataStagePtr parallel_map_stage(DataStagePtr input, StageFunction function,
                                DataTypes types, int threads);
DataStagePtr filter_stage(DataStagePtr input, StagePredicate keep);
// batch.cc and padded_batch.cc
DataStagePtr batch_stage(DataStagePtr input, int64_t size,
                         BatchOptions options);
DataStagePtr padded_batch_stage(DataStagePtr input, int64_t size,
                                PaddedBatchOptions options);
// shuffle.cc
DataStagePtr shuffle_stage(DataStagePtr input, int64_t buffer_size,
                           ShuffleOptions options);
// selection.cc
DataStagePtr repeat_stage(DataStagePtr input, int64_t count);
DataStagePtr take_stage(DataStagePtr input, int64_t count);
DataStagePtr skip_stage(DataStagePtr input, int64_t count);
DataStagePtr shard_stage(DataStagePtr input, int64_t num_shards, int64_t index);
// prefetch.cc
DataStagePtr prefetch_stage(DataStagePtr input, int64_t buffer_size);
// combination.cc
DataStagePtr zip_stage(std::vector<DataStagePtr> inputs);
DataStagePtr concatenate_stage(DataStagePtr first, DataStagePtr second);
DataStagePtr interleave_stage(
    DataStagePtr input, std::function<Result<Dataset>(DataElement)> function,
    DataTypes types, InterleaveOptions options);

}  // namespace rondo
