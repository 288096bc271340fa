// A sum of many products with their inner axis in front, such as the gradient
// of a weight that every step of an RNN uses, as one product.
//
//   a1ᵀ b1 + a2ᵀ b2 + …  =  [a1; a2; …]ᵀ [b1; b2; …]
//
// One long product runs faster than many short ones, and their results are
// neither written nor added up. What is stacked already is taken as it is.
#include <algorithm>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/joining.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/passes/passes.h"
#include "rondo/graph/passes/redirect.h"
#include "rondo/graph/passes/uses.h"

namespace rondo {
namespace {

constexpr size_t kFewest = 4;
// For the inner axis where its extent, a batch, is not known yet.
constexpr int64_t kGuess = 128;

using Products = std::vector<Node*>;

int64_t columns(const Value& matrix) {
  return matrix.shape().has_rank() && matrix.shape().rank() == 2
             ? matrix.shape()[1]
             : kAny;
}

// Whether `node` is such a product that only `sum` needs.
bool fits(const Node& node, const Node& sum, const Uses& uses) {
  return node.op().name == "MatMul" && uses.only_taker(node) == &sum &&
         node.attrs().get<bool>("transpose_a") &&
         !node.attrs().get<bool>("transpose_b") &&
         columns(node.input(0)) != kAny && columns(node.input(1)) != kAny;
}

std::vector<Value> inputs_of(const Products& products, int i) {
  std::vector<Value> values;
  for (const Node* product : products) values.push_back(product->input(i));
  return values;
}

// A Stack along the first axis of just these values, in any order.
Node* stack_of(const std::vector<Value>& values, const Uses& uses) {
  const auto before = [](const Value& a, const Value& b) {
    return std::pair(a.node->id(), a.index) < std::pair(b.node->id(), b.index);
  };
  std::vector<Value> wanted = values;
  std::ranges::sort(wanted, before);
  for (Node* taker : uses.takers(*values[0].node)) {
    if (taker->op().name != "Stack" || taker->attrs().get<int64_t>("axis") != 0)
      continue;
    std::vector<Value> has = taker->inputs();
    std::ranges::sort(has, before);
    if (has == wanted) return taker;
  }
  return nullptr;
}

// Puts the products in the order in which `stack` has their inputs `i`.
void sort_by(const Node& stack, int i, Products& products) {
  const auto place = [&](const Node* product) {
    return std::ranges::find(stack.inputs(), product->input(i));
  };
  std::ranges::stable_sort(products, {}, place);
}

// Their inputs `i` below each other.
Value below_each_other(const Products& products, int i, Node* stack) {
  const std::vector<Value> values = inputs_of(products, i);
  if (stack && stack->inputs() == values)
    return reshape(stack->output(), Ints{-1, columns(values[0])});
  return concat(values, 0);
}

bool pays(const Products& products, const Node* stack_a, const Node* stack_b) {
  const Node& first = *products[0];
  const int64_t m = columns(first.input(0));
  const int64_t n = columns(first.input(1));
  const PartialShape& a = first.input(0).shape();
  const int64_t k = a[0] == kAny ? kGuess : a[0];
  return (stack_a ? 0 : k * m) + (stack_b ? 0 : k * n) <= m * n;
}

// Empty where it is better to leave them.
Value joined(Products products, const Uses& uses) {
  Node* const stack_a = stack_of(inputs_of(products, 0), uses);
  Node* const stack_b = stack_of(inputs_of(products, 1), uses);
  if (!pays(products, stack_a, stack_b)) return {};
  if (stack_a) sort_by(*stack_a, 0, products);
  if (stack_b) sort_by(*stack_b, 1, products);
  const Value a = below_each_other(products, 0, stack_a);
  const Value b = below_each_other(products, 1, stack_b);
  return matmul(a, b, {.transpose_a = true});
}

}  // namespace

void join_products(Subgraph& part) {
  const Uses uses(part);
  Redirect redirect;
  for (Node* sum : uses.order()) {
    if (sum->op().name != "AddN" || uses.bound(*sum)) continue;
    Products products;
    std::vector<Value> terms;  // the others, and in the end what is joined
    for (const Value& term : sum->inputs()) {
      if (fits(*term.node, *sum, uses))
        products.push_back(term.node);
      else
        terms.push_back(term);
    }
    if (products.size() < kFewest) continue;
    const size_t before = part.graph->nodes().size();
    const Value one = joined(products, uses);
    if (!one) continue;
    terms.push_back(one);
    redirect.add(sum->output(), terms.size() == 1 ? one : add_n(terms));
    for (size_t i = before; i < part.graph->nodes().size(); ++i)
      part.graph->nodes()[i]->set_device(sum->device());
  }
  redirect.apply(part);
}

}  // namespace rondo
