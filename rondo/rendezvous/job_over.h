// Where in a job's store its launcher says that nobody may join it any more.
#pragma once

namespace rondo {

// Set when a rank of a job that grows has ended well, so that ranks that were
// added and wait to be taken in do not wait on. In the part of the store that
// rondo.torch sees.
inline constexpr const char* kJobOverKey = "torch/over";

}  // namespace rondo
