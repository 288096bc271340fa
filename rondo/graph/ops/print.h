// What a program prints and asserts.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

struct PrintOptions {
  std::string message = {};  // before the data
  int64_t first_n = -1;      // only so many times per session; -1: every time
  int64_t summarize = 3;     // so many elements of each; -1: all
};
// x, which when it is computed prints `data` on standard error.
RONDO_API Value print(Value x, const std::vector<Value>& data,
                      PrintOptions options = {});

struct AssertOptions {
  std::string message = {};
  int64_t summarize = 3;
};
// A node that fails the run unless the scalar `condition` is true; the error
// has the message and the data. Run it by control inputs: ControlScope.
RONDO_API Node& assert_that(Value condition, const std::vector<Value>& data,
                            AssertOptions options = {});

}  // namespace rondo
