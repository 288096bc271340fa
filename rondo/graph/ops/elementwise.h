// Element by element, with broadcasting: arithmetic, comparisons, activations.
//
// Binary operations broadcast as NumPy does and take inputs of one type. With a
// number on one side, that is a constant of the other side's type.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

RONDO_API Value add(Value x, Value y);
RONDO_API Value sub(Value x, Value y);
RONDO_API Value mul(Value x, Value y);
// Integers are divided towards zero.
RONDO_API Value div(Value x, Value y);
// Rounded down.
RONDO_API Value floor_div(Value x, Value y);
// What floor_div leaves: of the sign of y.
RONDO_API Value mod(Value x, Value y);
RONDO_API Value pow(Value x, Value y);
RONDO_API Value maximum(Value x, Value y);
RONDO_API Value minimum(Value x, Value y);
RONDO_API Value squared_difference(Value x, Value y);
// Of tensors of one shape.
RONDO_API Value add_n(std::vector<Value> values);
// x summed over the axes by which a tensor of `shape`, a vector of i32 or i64,
// was broadcast to x's.
RONDO_API Value sum_to(Value x, Value shape);
// The same for the shape of another value; x itself where they are known to be
// the same. The gradient of broadcasting `like`.
RONDO_API Value sum_to_like(Value x, Value like);

RONDO_API Value neg(Value x);
RONDO_API Value abs(Value x);
RONDO_API Value sign(Value x);
RONDO_API Value exp(Value x);
RONDO_API Value log(Value x);
RONDO_API Value log1p(Value x);
RONDO_API Value sqrt(Value x);
RONDO_API Value rsqrt(Value x);
RONDO_API Value square(Value x);
RONDO_API Value sin(Value x);
RONDO_API Value cos(Value x);
RONDO_API Value floor(Value x);
RONDO_API Value ceil(Value x);
// Halves go to the even neighbour.
RONDO_API Value round(Value x);

RONDO_API Value tanh(Value x);
RONDO_API Value sigmoid(Value x);
RONDO_API Value relu(Value x);
RONDO_API Value leaky_relu(Value x, double alpha = 0.2);
RONDO_API Value elu(Value x, double alpha = 1);
// By the error function, or approximated by tanh.
RONDO_API Value gelu(Value x, bool approximate = false);
RONDO_API Value softplus(Value x);

// Each gives bool.
RONDO_API Value greater(Value x, Value y);
RONDO_API Value greater_equal(Value x, Value y);
RONDO_API Value less(Value x, Value y);
RONDO_API Value less_equal(Value x, Value y);
RONDO_API Value equal(Value x, Value y);
RONDO_API Value not_equal(Value x, Value y);
RONDO_API Value logical_and(Value x, Value y);
RONDO_API Value logical_or(Value x, Value y);
RONDO_API Value logical_not(Value x);
RONDO_API Value is_nan(Value x);

// x where the condition is true, y elsewhere; all three broadcast.
RONDO_API Value select(Value condition, Value x, Value y);
RONDO_API Value clip_by_value(Value x, Value low, Value high);
RONDO_API Value clip_by_value(Value x, double low, double high);
// x; a run fails with `message` when an element is NaN or infinite.
RONDO_API Value check_numerics(Value x, std::string message);

// A scalar of x's type, in its graph.
RONDO_API Value scalar_like(Value x, double value);

inline Value operator+(Value x, Value y) { return add(x, y); }
inline Value operator-(Value x, Value y) { return sub(x, y); }
inline Value operator*(Value x, Value y) { return mul(x, y); }
inline Value operator/(Value x, Value y) { return div(x, y); }
inline Value operator-(Value x) { return neg(x); }
inline Value operator+(Value x, double y) { return add(x, scalar_like(x, y)); }
inline Value operator-(Value x, double y) { return sub(x, scalar_like(x, y)); }
inline Value operator*(Value x, double y) { return mul(x, scalar_like(x, y)); }
inline Value operator/(Value x, double y) { return div(x, scalar_like(x, y)); }
inline Value operator+(double x, Value y) { return add(scalar_like(y, x), y); }
inline Value operator-(double x, Value y) { return sub(scalar_like(y, x), y); }
inline Value operator*(double x, Value y) { return mul(scalar_like(y, x), y); }
inline Value operator/(double x, Value y) { return div(scalar_like(y, x), y); }

}  // namespace rondo
