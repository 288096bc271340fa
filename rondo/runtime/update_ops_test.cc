#include "rondo/graph/ops/update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/state.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

using testing::HasSubstr;

double element(const Tensor& t, size_t i) {
  switch (t.dtype()) {
    case DType::kF64: return t.span<double>()[i];
    case DType::kF32: return t.span<float>()[i];
    case DType::kF16: return t.span<Half>()[i].to_float();
    default: return t.span<BFloat16>()[i].to_float();
  }
}

Tensor tensor(const Shape& shape, DType dtype,
              const std::function<double(size_t)>& value) {
  Tensor t = Tensor::empty(shape, dtype);
  for (size_t i = 0; i < static_cast<size_t>(t.count()); ++i) {
    const auto x = static_cast<float>(value(i));
    switch (dtype) {
      case DType::kF64: t.span<double>()[i] = value(i); break;
      case DType::kF32: t.span<float>()[i] = x; break;
      case DType::kF16: t.span<Half>()[i] = Half::from_float(x); break;
      default: t.span<BFloat16>()[i] = BFloat16::from_float(x); break;
    }
  }
  return t;
}

// One element of a variable, with its slots, in double precision.
struct Element {
  double p = 0;
  double slots[3] = {};
};
constexpr double kRate = 0.1;

struct Rule {
  const char* name;
  double first_slot;  // what the first slot is at the beginning
  std::function<void(Element&, double)> step;
  std::function<Value(Value, const std::vector<Value>&, const Gradient&)> apply;
};

Value rate(Value v, double x) { return constant(v.graph(), x, DType::kF64); }

std::vector<Rule> rules() {
  auto adam = [](double decay) {
    return [decay](Element& e, double g) {
      e.p *= 1 - kRate * decay;
      e.slots[0] = 0.9 * e.slots[0] + 0.1 * g;
      e.slots[1] = 0.99 * e.slots[1] + 0.01 * g * g;
      e.p -= kRate * std::sqrt(1 - 0.99) / (1 - 0.9) * e.slots[0] /
             (std::sqrt(e.slots[1]) + 1e-3);
    };
  };
  auto adam_rates = [](Value v) {
    return AdamRates{rate(v, kRate), rate(v, 0.9), rate(v, 0.99),
                     rate(v, 1e-3),  rate(v, 0.9), rate(v, 0.99)};
  };
  auto rms_rates = [](Value v) {
    return RmsPropRates{rate(v, kRate), rate(v, 0.9), rate(v, 0.5),
                        rate(v, 1e-3)};
  };
  using Slots = std::vector<Value>;
  return {
      {"gradient descent", 0, [](Element& e, double g) { e.p -= kRate * g; },
       [](Value v, const Slots&, const Gradient& g) {
         return apply_gradient_descent(v, g, rate(v, kRate));
       }},
      {"momentum", 0,
       [](Element& e, double g) {
         e.slots[0] = 0.5 * e.slots[0] + g;
         e.p -= kRate * e.slots[0];
       },
       [](Value v, const Slots& s, const Gradient& g) {
         return apply_momentum(v, s[0], g, {rate(v, kRate), rate(v, 0.5)});
       }},
      {"nesterov", 0,
       [](Element& e, double g) {
         e.slots[0] = 0.5 * e.slots[0] + g;
         e.p -= kRate * (g + 0.5 * e.slots[0]);
       },
       [](Value v, const Slots& s, const Gradient& g) {
         return apply_momentum(v, s[0], g, {rate(v, kRate), rate(v, 0.5)},
                               true);
       }},
      {"adagrad", 0.5,
       [](Element& e, double g) {
         e.slots[0] += g * g;
         e.p -= kRate * g / (std::sqrt(e.slots[0]) + 1e-3);
       },
       [](Value v, const Slots& s, const Gradient& g) {
         return apply_adagrad(v, s[0], g, {rate(v, kRate), rate(v, 1e-3)});
       }},
      {"rmsprop", 1,
       [](Element& e, double g) {
         e.slots[0] = 0.9 * e.slots[0] + 0.1 * g * g;
         e.slots[1] =
             0.5 * e.slots[1] + kRate * g / std::sqrt(e.slots[0] + 1e-3);
         e.p -= e.slots[1];
       },
       [=](Value v, const Slots& s, const Gradient& g) {
         return apply_rms_prop(v, s[0], s[1], g, rms_rates(v));
       }},
      {"centered rmsprop", 1,
       [](Element& e, double g) {
         e.slots[0] = 0.9 * e.slots[0] + 0.1 * g * g;
         e.slots[2] = 0.9 * e.slots[2] + 0.1 * g;
         e.slots[1] =
             0.5 * e.slots[1] +
             kRate * g / std::sqrt(e.slots[0] - e.slots[2] * e.slots[2] + 1e-3);
         e.p -= e.slots[1];
       },
       [=](Value v, const Slots& s, const Gradient& g) {
         return apply_rms_prop(v, s[0], s[1], g, rms_rates(v), s[2]);
       }},
      {"adam", 0, adam(0),
       [=](Value v, const Slots& s, const Gradient& g) {
         return apply_adam(v, s[0], s[1], g, adam_rates(v));
       }},
      {"adamw", 0, adam(0.2),
       [=](Value v, const Slots& s, const Gradient& g) {
         return apply_adam_w(v, s[0], s[1], g, adam_rates(v), rate(v, 0.2));
       }},
  };
}

struct Model {
  Model(const Rule& rule, const Shape& shape, DType dtype) {
    auto initial = [](size_t i) { return std::sin(static_cast<double>(i)); };
    v = variable(g, constant(g, tensor(shape, dtype, initial)));
    for (int k = 0; k < 3; ++k)
      slots.push_back(variable(g, constant(g, tensor(shape, dtype, [&](size_t) {
                                             return k == 0 ? rule.first_slot
                                                           : 0;
                                           }))));
    elements.resize(static_cast<size_t>(shape.count()));
    for (size_t i = 0; i < elements.size(); ++i)
      elements[i] = {initial(i), {rule.first_slot, 0, 0}};
  }
  void expect_same(Session& session, double tolerance, const char* what) {
    const Tensor p = session.run(v).value();
    for (size_t k = 0; k < 3; ++k) {
      const Tensor slot = session.run(slots[k]).value();
      for (size_t i = 0; i < elements.size(); ++i)
        ASSERT_NEAR(element(slot, i), elements[i].slots[k], tolerance)
            << what << ", slot " << k << "[" << i << "]";
    }
    for (size_t i = 0; i < elements.size(); ++i)
      ASSERT_NEAR(element(p, i), elements[i].p, tolerance)
          << what << "[" << i << "]";
  }

  Graph g;
  Value v;
  std::vector<Value> slots;
  std::vector<Element> elements;
};

TEST(Update, DenseRules) {
  const std::pair<DType, double> types[] = {{DType::kF32, 2e-6},
                                            {DType::kF64, 1e-14},
                                            {DType::kF16, 1e-2},
                                            {DType::kBF16, 5e-2}};
  for (const Rule& rule : rules())
    for (const auto& [dtype, tolerance] : types)
      for (const int64_t count : {1, 13, 40000}) {
        if (count > 13 && dtype != DType::kF32) continue;
        Model model(rule, {count}, dtype);
        auto gradient = [](size_t i) {
          return std::cos(static_cast<double>(3 * i));
        };
        Value x = placeholder(model.g, {.dtype = dtype});
        Value change = rule.apply(model.v, model.slots, x);
        Session session(model.g, {.intra_op_threads = 2});
        session.run(initializer(model.g)).value();
        for (int step = 0; step < 3; ++step) {
          session.run(change, {{x, tensor({count}, dtype, gradient)}}).value();
          for (size_t i = 0; i < model.elements.size(); ++i)
            rule.step(model.elements[i], gradient(i));
        }
        model.expect_same(session, tolerance, rule.name);
      }
}

TEST(Update, SparseRules) {
  const std::vector<int32_t> indices = {4, 1, 4, 0, 4};
  const int64_t width = 3;
  for (const Rule& rule : rules())
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      Model model(rule, {6, width}, dtype);
      auto row = [](size_t i) { return std::cos(static_cast<double>(3 * i)); };
      Value rows = placeholder(model.g, {.dtype = dtype});
      Value at = placeholder(model.g, {.dtype = DType::kI32});
      Value change = rule.apply(model.v, model.slots,
                                Gradient(rows, at, shape_of(model.v)));
      Session session(model.g);
      session.run(initializer(model.g)).value();
      for (int step = 0; step < 2; ++step) {
        session
            .run(change, {{rows, tensor({5, width}, dtype, row)},
                          {at, Tensor::of<int32_t>({5}, indices)}})
            .value();
        for (const size_t r : {0, 1, 4})
          for (size_t k = 0; k < 3; ++k) {
            double sum = 0;
            for (size_t i = 0; i < 5; ++i)
              if (indices[i] == static_cast<int>(r)) sum += row(i * 3 + k);
            rule.step(model.elements[r * 3 + k], sum);
          }
      }
      model.expect_same(session, dtype == DType::kF32 ? 2e-6 : 1e-14,
                        rule.name);
      // No rows at all.
      session
          .run(change, {{rows, Tensor::zeros({0, width}, dtype)},
                        {at, Tensor::zeros({0}, DType::kI32)}})
          .value();
      model.expect_same(session, dtype == DType::kF32 ? 2e-6 : 1e-14,
                        rule.name);
    }
}

TEST(Update, ComesAfterTheReadsOfVariableAndSlots) {
  Graph g;
  Value v = variable(g, ones(g, {4}), {.name = "v"});
  Value s = variable(g, zeros(g, {4}), {.name = "s"});
  Value x = constant(g, Tensor::full({4}, 1.0f));
  Value rate_of = constant(g, 1, DType::kF32);
  Value change = apply_momentum(v, s, x, {rate_of, rate_of});
  Value old_v = identity(v), old_s = identity(s);
  Session session(g, {.inter_op_threads = 2});
  session.run(initializer(g)).value();
  float velocity = 0, value = 1;
  for (int i = 0; i < 20; ++i) {
    const auto out = session.run({change, old_s, old_v}, {}).value();
    EXPECT_EQ(out[1].span<float>()[0], velocity);
    EXPECT_EQ(out[2].span<float>()[3], value);
    velocity += 1;
    value -= velocity;
    EXPECT_EQ(out[0].span<float>()[0], value);
  }
}

TEST(Update, SaysWhatIsWrong) {
  Graph g;
  Value v = variable(g, ones(g, {4, 2}), {.name = "v"});
  Value s = variable(g, zeros(g, {4, 2}), {.name = "s"});
  Value other = variable(g, zeros(g, {3}), {.name = "other"});
  Value one = constant(g, 1, DType::kF32);
  EXPECT_THROW(apply_gradient_descent(v, zeros(g, {3}), one), Error);
  EXPECT_THROW(apply_gradient_descent(v, zeros(g, {4, 2}, DType::kF64), one),
               Error);
  EXPECT_THROW(apply_gradient_descent(v, zeros(g, {4, 2}), zeros(g, {2})),
               Error);
  EXPECT_THROW(apply_gradient_descent(one, zeros(g, {4, 2}), one), Error);
  EXPECT_THROW(apply_momentum(v, v, zeros(g, {4, 2}), {one, one}), Error);
  Session session(g);
  Value good = apply_momentum(v, s, ones(g, {4, 2}), {one, one});
  EXPECT_THAT(session.run(good).status().message(),
              HasSubstr("\"v\" has no value yet"));
  session.run(initializer(g)).value();
  EXPECT_THAT(
      session.run(apply_momentum(v, other, ones(g, {4, 2}), {one, one}))
          .status()
          .message(),
      HasSubstr("the slot \"other\" is f32[3], the variable \"v\" f32[4, 2]"));
  auto sparse = [&](int64_t index, const Shape& rows) {
    Value at = constant_ints(g, {index});
    Value x = placeholder(g);
    return session
        .run(apply_gradient_descent(v, Gradient(x, at, shape_of(v)), one),
             {{x, Tensor::zeros(rows)}})
        .status()
        .message();
  };
  EXPECT_THAT(sparse(4, {1, 2}), HasSubstr("index 0 is 4, out of range"));
  EXPECT_THAT(sparse(-1, {1, 2}), HasSubstr("index 0 is -1, out of range"));
  EXPECT_THAT(sparse(0, {1, 3}), HasSubstr("which are not 1 rows"));
  EXPECT_EQ(session.run(good).value().span<float>()[0], 0);
}

}  // namespace
}  // namespace rondo
