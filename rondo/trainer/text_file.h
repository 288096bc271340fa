// A text file as examples: its bytes are the tokens.
#pragma once

#include <string>

#include "rondo/base/status.h"
#include "rondo/trainer/examples.h"

namespace rondo {

// Pieces of `places` bytes, and for each byte the one behind it. The last tenth
// of the file is for the test.
Result<TrainingData> load_text_file(const std::string& path, int64_t places);
// The same of bytes in memory.
Result<TrainingData> text_examples(const std::string& name,
                                   std::string_view bytes, int64_t places);

}  // namespace rondo
