// known_ints: integers of a graph that are known before it runs.
#pragma once

#include <optional>

#include "rondo/graph/node.h"

namespace rondo {

// The elements of `value`, of i32 or i64, as far as they follow from constants
// and from what is known of shapes: kAny for one that does not. Sees through
// what programs compute shapes by, such as
// concat({rows(shape_of(x), 0, 1), constant}). Empty: not even their number.
std::optional<Ints> known_ints(const Value& value);

}  // namespace rondo
