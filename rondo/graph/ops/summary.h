// Summaries for TensorBoard.
//
// A summary is a vector of u8: the bytes of TensorBoard's Summary message,
// which train/event_writer.h puts into a file. Two of them, one behind the
// other, are a summary too. Each function adds to the collection "summaries".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

// The name of the collection that these functions fill.
inline constexpr std::string_view kSummaries = "summaries";

// Under `tag` the value of a scalar, the distribution of a tensor's elements.
RONDO_API Value scalar_summary(std::string tag, Value value);
RONDO_API Value histogram_summary(std::string tag, Value values);

struct ImageSummaryOptions {
  int64_t max_outputs = 3;
  // The colour of pixels that are not finite, one number per channel.
  Ints bad_color = {255, 0, 0, 255};
};
// Of images [batch, height, width, 1, 3 or 4 channels] the first few, as PNG.
RONDO_API Value image_summary(std::string tag, Value images,
                              ImageSummaryOptions options = {});
// Markdown; `text` is a vector of u8.
RONDO_API Value text_summary(std::string tag, Value text);
// All of them as one. A tag may be in one of them only.
RONDO_API Value merge_summary(const std::vector<Value>& summaries);
// All that the graph has; throws when it has none.
RONDO_API Value merge_all_summaries(Graph& graph);

// A text as a vector of u8.
RONDO_API Value text_constant(Graph& graph, std::string_view text);

}  // namespace rondo
