#include "rondo/graph/graph_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "rondo/graph/dot.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/random.h"
#include "rondo/graph/ops/state.h"
#include "rondo/graph/ops/update.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A folder of the test's own.
class Folder {
 public:
  Folder() {
    std::string pattern =
        std::filesystem::temp_directory_path() / "rondoXXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const {
    return (path_ / name).string();
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string why_not(const std::string& path) {
  try {
    load_graph(path);
  } catch (const Error& e) {
    return e.what();
  }
  return "it can be read";
}

void expect_same(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.nodes().size(), b.nodes().size());
  for (size_t i = 0; i < a.nodes().size(); ++i) {
    const Node& x = *a.nodes()[i];
    const Node& y = *b.nodes()[i];
    EXPECT_EQ(x.name(), y.name());
    EXPECT_EQ(&x.op(), &y.op());
    EXPECT_EQ(x.device(), y.device());
    EXPECT_EQ(x.origin(), y.origin());
    EXPECT_TRUE(x.attrs() == y.attrs()) << x.name();
    ASSERT_EQ(x.inputs().size(), y.inputs().size());
    for (size_t k = 0; k < x.inputs().size(); ++k)
      EXPECT_EQ(x.inputs()[k].name(), y.inputs()[k].name());
    ASSERT_EQ(x.control_inputs().size(), y.control_inputs().size());
    for (size_t k = 0; k < x.control_inputs().size(); ++k)
      EXPECT_EQ(x.control_inputs()[k]->name(), y.control_inputs()[k]->name());
    for (size_t k = 0; k < x.outputs().size(); ++k) {
      EXPECT_EQ(x.outputs()[k].dtype, y.outputs()[k].dtype);
      EXPECT_EQ(x.outputs()[k].shape, y.outputs()[k].shape) << x.name();
    }
  }
  EXPECT_EQ(a.seed(), b.seed());
  ASSERT_EQ(a.collections().size(), b.collections().size());
  for (const auto& [name, values] : a.collections()) {
    const auto& others = b.collections().at(name);
    ASSERT_EQ(values.size(), others.size());
    for (size_t k = 0; k < values.size(); ++k)
      EXPECT_EQ(values[k].name(), others[k].name());
  }
}

TEST(ImportGraphDef, WhatIsBesideANodeIsSoWithinAScope) {
  Graph g;
  const Value a = constant(g, 1, DType::kF32);
  const ColocateScope beside(g, *a.node);
  (void)identity(a, "b");
  Graph other;
  import_graph_def(other, to_graph_def(g), {.scope = "in"});
  EXPECT_THAT(other.find("in/b")->colocated_with(),
              ElementsAre("in/" + a.node->name()));
}

// A graph with something of everything.
struct Model {
  explicit Model(int64_t width = 4) {
    g.set_seed(11);
    const NameScope scope(g, "model");
    const DeviceScope device(g, "/cpu:0");
    x = placeholder(g, {.shape = {kAny, 2}, .name = "x"});
    Tensor initial = Tensor::empty({width});
    for (size_t i = 0; i < static_cast<size_t>(width); ++i)
      initial.span<float>()[i] = static_cast<float>(i);
    v = variable(g, constant(g, initial), {.name = "v"});
    Value velocity = variable(g, zeros(g, {width}), {.name = "s"});
    train = apply_momentum(
        v, velocity, ones(g, {width}),
        {constant(g, 0.1, DType::kF64), constant(g, 1, DType::kF32)}, true);
    const ControlScope after(g, {train.node});
    now = read_variable(v);
    noise = random_normal(shape_of(x), 0.1, 1.0 / 3, {.dtype = DType::kF64});
    flat = reshape(x, {-1});
    Node& made =
        g.add({.op = "Identity", .inputs = {flat}, .origin = "a.py:3"});
    last = made.output();
    for (const DType dtype :
         {DType::kF16, DType::kBF16, DType::kI64, DType::kI32, DType::kI16,
          DType::kI8, DType::kU8, DType::kBool})
      (void)constant(g, 1, dtype);
    (void)constant(g, Tensor::zeros({0, 3}));
  }
  Graph g;
  Value x, v, train, now, noise, flat, last;
};

TEST(GraphIo, IsTheSameAfterwards) {
  Model model;
  const std::string bytes = to_graph_def(model.g);
  const auto again = from_graph_def(bytes);
  expect_same(model.g, *again);
  EXPECT_EQ(to_graph_def(*again), bytes);
  // Scopes are taken as they were.
  EXPECT_EQ(again->unique_name("model"), "model_1");
}

TEST(GraphIo, RunsAfterwards) {
  const Folder folder;
  Model model;
  save_graph(model.g, folder / "graph");
  const auto again = load_graph(folder / "graph");
  expect_same(model.g, *again);
  auto result = [](Graph& g) {
    Session session(g);
    session.run(initializer(g)).value();
    auto out = session
                   .run({g.value("model/read"), g.value("model/RandomNormal"),
                         g.value("model/Identity")},
                        {{g.value("model/x"), Tensor::zeros({3, 2})}})
                   .value();
    std::string text;
    for (const Tensor& t : out) text += t.to_string() + "; ";
    return text;
  };
  EXPECT_EQ(result(model.g), result(*again));
  EXPECT_THAT(result(*again), HasSubstr("f32[4] -0.2"));
}

TEST(GraphIo, Loops) {
  Graph g;
  const Value one = constant(g, 1, DType::kBool);
  Value n = placeholder(g, {.dtype = DType::kF32, .shape = {2}});
  Values out = while_loop(
      [&](const Values& v) { return v[0]; },
      [&](const Values& v) {
        return Values{cast(zeros(g, {}), DType::kBool), identity(v[1])};
      },
      {one, n});
  const auto again = from_graph_def(to_graph_def(g));
  expect_same(g, *again);
  Session session(*again);
  Tensor in = Tensor::of<float>({2}, std::vector<float>{3, 4});
  EXPECT_THAT(
      session.run(again->value(out[1].name()), {{again->value(n.name()), in}})
          .value()
          .span<float>(),
      ElementsAre(3, 4));
}

TEST(GraphIo, LargeConstantsLieBehind) {
  const Folder folder;
  Model model((1 << 18) + 1);
  const std::string path = folder / "graph";
  save_graph(model.g, path);
  save_graph(model.g, path);
  EXPECT_EQ(folder.files(), 1u);
  expect_same(model.g, *load_graph(path));
  // The whole file is a GraphDef to a reader that skips what it does not know.
  const std::string all = read(path);
  EXPECT_GT(all.size(), 1u << 20);
  EXPECT_THAT([&] { from_graph_def(all); },
              testing::ThrowsMessage<Error>(
                  HasSubstr("in data 1, of which there are 0")));
  // And without its constants, for pictures.
  const std::string small = to_graph_def(model.g, {.constants_up_to = 1000});
  EXPECT_LT(small.size(), 20000u);
  EXPECT_THAT([&] { from_graph_def(small); },
              testing::ThrowsMessage<Error>(HasSubstr("were left out")));
}

TEST(GraphIo, DamageIsNoticed) {
  const Folder folder;
  const std::string path = folder / "graph";
  Model model((1 << 18) + 1);
  save_graph(model.g, path);
  const std::string good = read(path);
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{100}, size_t{2000}, good.size() / 2,
        good.size() - 13, good.size() - 1}) {
    write(path, good.substr(0, size));
    EXPECT_THAT(why_not(path), HasSubstr("is no whole graph")) << size;
  }
  write(path, good + "x");
  EXPECT_THAT(why_not(path), HasSubstr("is no whole graph"));
  // Any byte: of headers, names, elements, the checksum itself.
  for (size_t at = 0; at < good.size();
       at += at < 3000 || at + 50 > good.size() ? 41 : 100003) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    write(path, bad);
    EXPECT_THAT(why_not(path), HasSubstr("is no whole graph")) << at;
  }
  EXPECT_THAT(why_not(folder / "none"), HasSubstr("No such file"));
  EXPECT_THROW(save_graph(model.g, folder / "no/such/folder"), Error);
}

TEST(GraphIo, WhatIsNoGraphIsRefused) {
  EXPECT_THROW(from_graph_def("no graph at all"), Error);
  EXPECT_TRUE(from_graph_def("")->nodes().empty());
  auto node = [](const std::string& fields) {
    return "\x0A" + std::string(1, static_cast<char>(fields.size())) + fields;
  };
  auto why = [](const std::string& bytes) -> std::string {
    try {
      from_graph_def(bytes);
    } catch (const Error& e) {
      return e.what();
    }
    return "it is a graph";
  };
  EXPECT_THAT(
      why(node("\x0A\x01n\x12\x04None")),
      HasSubstr("node None \"n\": this process knows no such operation"));
  EXPECT_THAT(why(node("\x0A\x01n\x12\x08Identity\x1A\x01m")),
              HasSubstr("its input 0 is no node before it"));
  EXPECT_THAT(why(node("\x0A\x01n\x12\x04NoOp\x1A\x02^m")),
              HasSubstr("waits for \"m\", which is not in the graph"));
  EXPECT_THAT(
      why(node("\x0A\x01n\x12\x04NoOp") + node("\x0A\x01n\x12\x04NoOp")),
      HasSubstr("two nodes of this name"));
  // Cut anywhere or with any byte changed: an error or a graph, no crash.
  Model model;
  const std::string good = to_graph_def(model.g);
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    (void)why(bad);
    (void)why(good.substr(0, at));
  }
}

TEST(Dot, ShowsNodesScopesAndEdges) {
  Model model;
  const std::string dot = to_dot(model.g);
  EXPECT_THAT(dot, HasSubstr("subgraph \"cluster_model/\""));
  EXPECT_THAT(dot, HasSubstr("label=\"x\\nPlaceholder\""));
  EXPECT_THAT(dot, HasSubstr("label=\"f32[?, 2]\""));
  EXPECT_THAT(dot, HasSubstr("style=dashed"));
}

}  // namespace
}  // namespace rondo
