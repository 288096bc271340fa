// Einstein summation, lowered to other operations while the graph is built.
//
// Every axis of an operand has a label: a letter's code, or, for the axes that
// "..." stands for, -1 for the last of them, -2 for the one before it, and so
// on. Operands are multiplied from left to right. Of two operands, labels are
// of four kinds: batch (in both, still needed), contracted (in both, not needed
// any more), and free in one of them.
#include <algorithm>
#include <cctype>
#include <string>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/matrix.h"

namespace rondo {
namespace {

using Labels = std::vector<int>;

struct Operand {
  Value value;
  Labels labels;
};

bool contains(const Labels& labels, int label) {
  return std::ranges::find(labels, label) != labels.end();
}

[[noreturn]] void fail(std::string_view equation, const std::string& what) {
  throw Error(Code::kInvalidArgument,
              fmt::format("einsum \"{}\": {}", equation, what));
}

// The labels of a term of the equation; `dots` axes stand where "..." is.
Labels parse_term(std::string_view equation, std::string_view term, int dots) {
  Labels labels;
  bool seen = false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term.substr(i, 3) == "...") {
      if (seen) fail(equation, "a term has more than one \"...\"");
      seen = true;
      for (int d = dots; d > 0; --d) labels.push_back(-d);
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      labels.push_back(term[i]);
    } else {
      fail(equation, fmt::format("'{}' is not a label: expected letters and "
                                 "\"...\"",
                                 term[i]));
    }
  }
  return labels;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char ch : text)
    if (ch == ',')
      parts.emplace_back();
    else
      parts.back() += ch;
  return parts;
}

struct Parsed {
  std::vector<Operand> operands;
  Labels output;
};

Parsed parse(std::string_view equation, const std::vector<Value>& values) {
  std::string text;
  for (const char ch : equation)
    if (ch != ' ') text += ch;
  const size_t arrow = text.find("->");
  const auto terms = split(text.substr(0, arrow));
  if (terms.size() != values.size())
    fail(equation, fmt::format("it has {} operands, but {} were given",
                               terms.size(), values.size()));
  Parsed parsed;
  int most_dots = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (!values[i]) fail(equation, fmt::format("operand {} is none", i));
    const PartialShape& shape = values[i].shape();
    if (!shape.has_rank())
      fail(equation, fmt::format("the rank of operand {} is not known", i));
    const bool has_dots = terms[i].find("...") != std::string::npos;
    const int letters =
        static_cast<int>(parse_term(equation, terms[i], 0).size());
    const int dots = has_dots ? shape.rank() - letters : 0;
    if (dots < 0 || letters + dots != shape.rank())
      fail(equation,
           fmt::format("operand {} has shape {}, but \"{}\" names {} axes", i,
                       shape.to_string(), terms[i], letters));
    most_dots = std::max(most_dots, dots);
    parsed.operands.push_back(
        {values[i], parse_term(equation, terms[i], dots)});
  }
  if (arrow != std::string::npos) {
    parsed.output = parse_term(equation, text.substr(arrow + 2), most_dots);
  } else {
    for (int d = most_dots; d > 0; --d) parsed.output.push_back(-d);
    Labels once;
    for (const Operand& operand : parsed.operands)
      once.insert(once.end(), operand.labels.begin(), operand.labels.end());
    std::ranges::sort(once);
    for (const int label : once)
      if (label > 0 && std::ranges::count(once, label) == 1)
        parsed.output.push_back(label);
  }
  return parsed;
}

void check_output(std::string_view equation, const Parsed& parsed) {
  for (const int label : parsed.output) {
    if (std::ranges::count(parsed.output, label) > 1)
      fail(equation, "a label is twice in the result");
    if (std::ranges::none_of(parsed.operands, [&](const Operand& operand) {
          return contains(operand.labels, label);
        }))
      fail(equation, fmt::format("label '{}' of the result is in no operand",
                                 static_cast<char>(label)));
  }
  for (const Operand& operand : parsed.operands)
    for (const int label : operand.labels)
      if (label < 0 && !contains(parsed.output, label))
        fail(equation, "\"...\" is in an operand but not in the result");
}

// x with its axes in the order of these labels.
Operand ordered(const Operand& x, const Labels& labels) {
  if (x.labels == labels) return x;
  Ints perm;
  for (const int label : labels)
    perm.push_back(std::ranges::find(x.labels, label) - x.labels.begin());
  return {make("Transpose", {x.value}, {{"perm", perm}}), labels};
}

// Axes of the same label become one: the diagonal.
Operand take_diagonals(Operand x) {
  for (size_t i = 0; i < x.labels.size(); ++i) {
    const auto again =
        std::find(x.labels.begin() + static_cast<ptrdiff_t>(i) + 1,
                  x.labels.end(), x.labels[i]);
    if (again == x.labels.end()) continue;
    const auto second = static_cast<size_t>(again - x.labels.begin());
    Ints perm;
    Labels rest;
    for (size_t j = 0; j < x.labels.size(); ++j)
      if (j != i && j != second) {
        perm.push_back(static_cast<int64_t>(j));
        rest.push_back(x.labels[j]);
      }
    perm.push_back(static_cast<int64_t>(i));
    perm.push_back(static_cast<int64_t>(second));
    rest.push_back(x.labels[i]);
    const Value square = make("Transpose", {x.value}, {{"perm", perm}});
    return take_diagonals({matrix_diag_part(square), rest});
  }
  return x;
}

Operand sum_unless(Operand x, const auto& needed) {
  Ints axes;
  Labels left;
  for (size_t i = 0; i < x.labels.size(); ++i)
    if (needed(x.labels[i]))
      left.push_back(x.labels[i]);
    else
      axes.push_back(static_cast<int64_t>(i));
  if (axes.empty()) return x;
  return {make("Sum", {x.value}, {{"axes", axes}}), left};
}

// An extent to be: the product of some of a value's.
struct Extent {
  Value of;
  std::vector<int> axes;

  int64_t known() const {
    int64_t product = 1;
    for (const int axis : axes) {
      if (of.shape()[axis] == kAny) return kAny;
      product *= of.shape()[axis];
    }
    return product;
  }
  // As a vector of one element.
  Value value() const {
    Graph& graph = of.graph();
    if (known() != kAny) return constant_ints(graph, {known()});
    const Value some = make(
        "Gather",
        {shape_of(of), constant_ints(graph, Ints(axes.begin(), axes.end()))},
        {{"axis", int64_t{0}}});
    return make("Prod", {some}, {{"axes", Ints{0}}, {"keep_dims", true}});
  }
};

Value reshape_to(Value x, const std::vector<Extent>& extents) {
  Ints known;
  for (const Extent& extent : extents) known.push_back(extent.known());
  if (std::ranges::count(known, kAny) <= 1) return reshape(x, known);
  std::vector<Value> parts;
  for (const Extent& extent : extents) parts.push_back(extent.value());
  return reshape(x, make("Concat", parts, {{"axis", int64_t{0}}}));
}

std::vector<int> places(int first, size_t count) {
  std::vector<int> axes(count);
  for (size_t i = 0; i < count; ++i) axes[i] = first + static_cast<int>(i);
  return axes;
}

// A factor as batches of matrices.
struct Matrices {
  Value value;
  bool transposed = false;
};

// x as [batch…, rows, columns], or with the last two exchanged where that needs
// no transpose.
Matrices as_matrices(const Operand& x, const Labels& batch, const Labels& rows,
                     const Labels& columns) {
  const auto joined = [&](const Labels& a, const Labels& b) {
    Labels all = batch;
    all.insert(all.end(), a.begin(), a.end());
    all.insert(all.end(), b.begin(), b.end());
    return all;
  };
  const bool transposed =
      x.labels != joined(rows, columns) && x.labels == joined(columns, rows);
  const Labels& first = transposed ? columns : rows;
  const Labels& second = transposed ? rows : columns;
  const Value moved = ordered(x, joined(first, second)).value;
  if (first.size() == 1 && second.size() == 1) return {moved, transposed};
  std::vector<Extent> extents;
  for (const int axis : places(0, batch.size()))
    extents.push_back({moved, {axis}});
  const int at = static_cast<int>(batch.size());
  extents.push_back({moved, places(at, first.size())});
  extents.push_back(
      {moved, places(at + static_cast<int>(first.size()), second.size())});
  return {reshape_to(moved, extents), transposed};
}

Operand multiply(const Operand& a, const Operand& b, const auto& needed) {
  Labels batch, contracted, free_a, free_b;
  for (const int label : a.labels)
    (!contains(b.labels, label) ? free_a
     : needed(label)            ? batch
                                : contracted)
        .push_back(label);
  for (const int label : b.labels)
    if (!contains(a.labels, label)) free_b.push_back(label);
  const Matrices x = as_matrices(a, batch, free_a, contracted);
  const Matrices y = as_matrices(b, batch, contracted, free_b);
  Value product = batch_matmul(x.value, y.value, x.transposed, y.transposed);
  Operand result{product, batch};
  result.labels.insert(result.labels.end(), free_a.begin(), free_a.end());
  result.labels.insert(result.labels.end(), free_b.begin(), free_b.end());
  if (free_a.size() == 1 && free_b.size() == 1) return result;
  std::vector<Extent> extents;
  for (const int axis : places(0, batch.size()))
    extents.push_back({product, {axis}});
  const auto own = [&](const Operand& from, const Labels& labels) {
    for (const int label : labels)
      extents.push_back(
          {from.value,
           {static_cast<int>(std::ranges::find(from.labels, label) -
                             from.labels.begin())}});
  };
  own(a, free_a);
  own(b, free_b);
  result.value = reshape_to(product, extents);
  return result;
}

}  // namespace

Value einsum(std::string_view equation, const std::vector<Value>& values) {
  if (values.empty()) fail(equation, "no operands were given");
  Parsed parsed = parse(equation, values);
  check_output(equation, parsed);
  const NameScope scope(values[0].graph(), "einsum");
  std::vector<Operand>& operands = parsed.operands;
  // Whether the result or an operand from `from` on, but for `except`, has it.
  const auto needed_by = [&](int label, size_t from, size_t except) {
    if (contains(parsed.output, label)) return true;
    for (size_t i = from; i < operands.size(); ++i)
      if (i != except && contains(operands[i].labels, label)) return true;
    return false;
  };
  for (size_t i = 0; i < operands.size(); ++i) {
    operands[i] = take_diagonals(operands[i]);
    operands[i] = sum_unless(operands[i],
                             [&](int label) { return needed_by(label, 0, i); });
  }
  Operand result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i)
    result = multiply(result, operands[i], [&](int label) {
      return needed_by(label, i + 1, operands.size());
    });
  return ordered(result, parsed.output).value;
}

}  // namespace rondo
