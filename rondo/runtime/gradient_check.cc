#include "rondo/runtime/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/basic.h"

namespace rondo {
namespace {

Tensor random_like(const Tensor& t) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<double> any(-1, 1);
  Tensor w = Tensor::empty(t.shape(), DType::kF64);
  for (double& x : w.span<double>()) x = any(generator);
  return w;
}

double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (size_t i = 0; i < a.span<double>().size(); ++i)
    sum += a.span<double>()[i] * b.span<double>()[i];
  return sum;
}

// The operations that a gradient of y must flow through to reach xs: only
// floats have one, and some operations let none through. Loops close by edges
// that lead back, so it takes several passes.
std::set<std::string_view> operations_between(Value y,
                                              const std::vector<Value>& xs) {
  const auto& nodes = y.graph().nodes();
  std::vector<bool> before_y(nodes.size()), after_x(nodes.size());
  before_y[static_cast<size_t>(y.node->id())] = true;
  for (const Value& x : xs) after_x[static_cast<size_t>(x.node->id())] = true;
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i]->op().constant) continue;
      for (const Value& input : nodes[i]->inputs()) {
        if (!contains(TypeSet::kFloat, input.dtype())) continue;
        const auto in = static_cast<size_t>(input.node->id());
        if ((after_x[in] && !after_x[i]) || (before_y[i] && !before_y[in]))
          again = true;
        if (after_x[in]) after_x[i] = true;
        if (before_y[i]) before_y[in] = true;
      }
    }
  }
  std::set<std::string_view> found;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (before_y[i] && after_x[i] && nodes[i]->op().gradient)
      found.insert(nodes[i]->op().name);
  return found;
}

}  // namespace

GradientCheck check_gradient(Value y, const std::vector<Feed>& at,
                             Node* initializer) {
  Graph& graph = y.graph();
  std::vector<Feed> feeds;
  std::vector<Value> xs;
  for (const Feed& feed : at) {
    feeds.push_back({feed.value, feed.tensor.clone()});
    if (feed.value.dtype() == DType::kF64) xs.push_back(feed.value);
  }
  GradientCheck check;
  check.operations = operations_between(y, xs);
  const Value weights =
      placeholder(graph, {.dtype = DType::kF64, .shape = y.shape()});
  const Value grad_y[] = {weights};
  const Value ys[] = {y};
  std::vector<Value> analytic;
  for (const Gradient& gradient : gradients(ys, xs, grad_y))
    analytic.push_back(gradient ? to_dense(gradient)
                                : zeros_like(xs[analytic.size()]));
  Session session(graph);
  if (initializer) session.run(*initializer).value();
  const Tensor w = random_like(session.run(y, feeds).value());
  auto with_weights = feeds;
  with_weights.push_back({weights, w});
  const auto found = session.run(analytic, with_weights).value();

  size_t x = 0;
  for (Feed& feed : feeds) {
    if (feed.value.dtype() != DType::kF64) continue;
    const Tensor& gradient = found[x++];
    if (gradient.shape() != feed.tensor.shape()) {
      check.worst = INFINITY;
      check.where = fmt::format("{}: its gradient has shape {}, not {}",
                                feed.value.name(), gradient.shape().to_string(),
                                feed.tensor.shape().to_string());
      return check;
    }
    for (size_t i = 0; i < feed.tensor.span<double>().size(); ++i) {
      double& element = feed.tensor.span<double>()[i];
      const double here = element;
      constexpr double kStep = 1e-5;
      element = here + kStep;
      const double above = dot(w, session.run(y, feeds).value());
      element = here - kStep;
      const double below = dot(w, session.run(y, feeds).value());
      element = here;
      const double numeric = (above - below) / (2 * kStep);
      const double mine = gradient.span<double>()[i];
      const double off = std::abs(mine - numeric) /
                         std::max({1.0, std::abs(mine), std::abs(numeric)});
      if (!(off <= check.worst)) {
        check.worst = std::isnan(off) ? INFINITY : off;
        check.where = fmt::format("{}[{}]: analytic {}, numeric {}",
                                  feed.value.name(), i, mine, numeric);
      }
    }
  }
  return check;
}

}  // namespace rondo
