#include "rondo/train/saver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "rondo/graph/graph_io.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/io.h"
#include "rondo/graph/ops/state.h"
#include "rondo/tensor/safetensors.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class SaverTest : public testing::Test {
 protected:
  SaverTest() {
    std::string pattern =
        std::filesystem::temp_directory_path() / "rondoXXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ + "/model";
  }
  ~SaverTest() override { std::filesystem::remove_all(folder_); }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(folder_))
      names.push_back(file.path().filename());
    return names;
  }

  std::string folder_;
  std::string path_;
};

// Two variables: w, float [n] of `value`, and step, an i64.
struct Model {
  explicit Model(float value, int64_t n = 4)
      : w(variable(graph, constant(graph, Tensor::full<float>({n}, value)),
                   {.name = "w"})),
        step(variable(graph, constant(graph, Tensor::full<int64_t>({}, 7)),
                      {.name = "step"})),
        more(assign_add(w, ones(graph, {n}))),
        session(graph) {
    session.run(initializer(graph)).value();
  }
  std::string values() {
    auto got = session.run({w, step}, {}).value();
    return got[0].to_string() + ", " + got[1].to_string();
  }

  Graph graph;
  Value w, step, more;
  Session session;
};

TEST_F(SaverTest, SavesAndRestores) {
  Model a(1.5f);
  Saver saver(a.graph);
  EXPECT_EQ(saver.save(a.session, path_, 12).value(), path_ + "-12");
  EXPECT_THAT(files(), UnorderedElementsAre("model-12.safetensors",
                                            "model-12.meta", "checkpoint"));
  (void)a.session.run(a.more).value();
  EXPECT_EQ(a.values(), "f32[4] 2.5 2.5 2.5 2.5, i64[] 7");
  saver.restore(a.session, path_ + "-12").value();
  EXPECT_EQ(a.values(), "f32[4] 1.5 1.5 1.5 1.5, i64[] 7");
  EXPECT_EQ(latest_checkpoint(folder_).value(), path_ + "-12");

  // In another program, from the files alone.
  const auto graph = load_graph(path_ + "-12.meta");
  Session session(*graph);
  Saver(*graph).restore(session, path_ + "-12.safetensors").value();
  EXPECT_EQ(session.run(graph->value("w")).value().to_string(),
            "f32[4] 1.5 1.5 1.5 1.5");
}

TEST_F(SaverTest, OfASessionThatWasNotInitialized) {
  Model a(1);
  Saver saver(a.graph);
  saver.save(a.session, path_).value();
  Session fresh(a.graph);
  EXPECT_THAT(saver.save(fresh, path_ + "2").status().message(),
              HasSubstr("has no value yet"));
  EXPECT_FALSE(checkpoint_exists(path_ + "2"));
  saver.restore(fresh, path_).value();
  EXPECT_EQ(fresh.run(a.step).value().to_string(), "i64[] 7");
}

TEST_F(SaverTest, SomeVariablesUnderOtherNames) {
  Model a(1), b(2);
  Saver(a.graph, {.variables = {{"weights", a.w}}})
      .save(a.session, path_)
      .value();
  EXPECT_EQ(SafetensorsFile::open(checkpoint_file(path_))->entries().size(), 1);
  Saver(b.graph, {.variables = {{"weights", b.w}}})
      .restore(b.session, path_)
      .value();
  EXPECT_EQ(b.values(), a.values());
}

TEST_F(SaverTest, WhatCannotBeSaved) {
  Graph none;
  EXPECT_THROW(Saver{none}, Error);
  Model a(1);
  EXPECT_THROW(Saver(a.graph, {.variables = {{"x", a.w}, {"x", a.step}}}),
               Error);
  EXPECT_THROW(Saver(a.graph, {.variables = {{"x", a.more}}}), Error);
  EXPECT_THROW(Saver(a.graph, {.variables = {{"x", a.w}, {"y", a.w}}}), Error);
  EXPECT_THROW(Saver(a.graph, {.max_to_keep = -1}), Error);
  Saver saver(a.graph);
  EXPECT_FALSE(saver.save(a.session, "").ok());
  EXPECT_FALSE(saver.save(a.session, folder_ + "/").ok());
  EXPECT_FALSE(saver.save(a.session, path_, {.latest_filename = "a/b"}).ok());
  Model b(1);
  EXPECT_FALSE(saver.save(b.session, path_).ok());
  const Status status = saver.save(a.session, folder_ + "/no/model").status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("there is no folder"));
  EXPECT_TRUE(files().empty());
  EXPECT_TRUE(saver.save(a.session, path_).ok());
}

TEST_F(SaverTest, OldCheckpointsGo) {
  Model a(1);
  double now = 1000;
  Saver saver(a.graph, {.max_to_keep = 2,
                        .keep_checkpoint_every_n_hours = 1,
                        .now = [&] { return now; }});
  for (const int step : {1, 2, 3}) {
    saver.save(a.session, path_, step).value();
    now += 1;
  }
  EXPECT_FALSE(checkpoint_exists(path_ + "-1"));
  EXPECT_EQ(files().size(), 5);
  // Of each hour, one stays.
  now += 3600;
  saver.save(a.session, path_, 4).value();
  now += 1;
  for (const int step : {5, 6, 7}) saver.save(a.session, path_, step).value();
  EXPECT_FALSE(checkpoint_exists(path_ + "-3"));
  EXPECT_TRUE(checkpoint_exists(path_ + "-4"));
  EXPECT_FALSE(checkpoint_exists(path_ + "-5"));
  const auto state = get_checkpoint_state(folder_).value();
  EXPECT_THAT(state->all_model_checkpoint_paths,
              ElementsAre(path_ + "-6", path_ + "-7"));
  EXPECT_EQ(state->last_preserved_timestamp, 4603);

  // Another process goes on with those of this one.
  Saver next(a.graph, {.max_to_keep = 2});
  next.recover_last_checkpoints({path_ + "-gone", path_ + "-6", path_ + "-7"});
  ASSERT_EQ(next.last_checkpoints().size(), 2);
  next.save(a.session, path_, 8).value();
  EXPECT_FALSE(checkpoint_exists(path_ + "-6"));
  EXPECT_TRUE(checkpoint_exists(path_ + "-7"));
}

TEST_F(SaverTest, SavingOverItselfRemovesNothing) {
  Model a(1);
  Saver saver(a.graph, {.max_to_keep = 1});
  for (int i = 0; i < 3; ++i) saver.save(a.session, path_).value();
  EXPECT_TRUE(checkpoint_exists(path_));
  EXPECT_EQ(saver.last_checkpoints().size(), 1);
}

// Each writes a checkpoint that must be refused, with nothing changed by it.
class BadCheckpoint : public SaverTest {
 protected:
  void expect_refused(const std::vector<std::string>& words) {
    Model b(5);
    Saver saver(b.graph);
    const std::string before = b.values();
    const Status status = saver.restore(b.session, path_);
    ASSERT_FALSE(status.ok());
    for (const std::string& word : words)
      EXPECT_THAT(status.message(), HasSubstr(word));
    EXPECT_EQ(b.values(), before);
    // The session goes on.
    (void)b.session.run(b.more).value();
    EXPECT_TRUE(saver.save(b.session, path_).ok());
    EXPECT_TRUE(saver.restore(b.session, path_).ok());
  }
  void save(const std::vector<NamedTensor>& tensors) const {
    write_safetensors(checkpoint_file(path_), tensors).value();
  }
  void save_model() const {
    Model a(1);
    Saver(a.graph).save(a.session, path_).value();
  }

  const Tensor step_ = Tensor::full<int64_t>({}, 1);
};

TEST_F(BadCheckpoint, Missing) {
  expect_refused({"there is no checkpoint " + path_});
}

TEST_F(BadCheckpoint, Truncated) {
  save_model();
  const std::string file = checkpoint_file(path_);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 5);
  expect_refused({file, "is no whole safetensors file"});
}

TEST_F(BadCheckpoint, Corrupt) {
  save_model();
  const std::string file = checkpoint_file(path_);
  {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(-3, std::ios::end);  // within "w"
    stream.put('\x55');
  }
  expect_refused({"tensor \"w\" of " + file, "its checksum is wrong"});
}

TEST_F(BadCheckpoint, OtherNames) {
  save({{"v", Tensor::full<float>({4}, 1)}, {"step", step_}});
  expect_refused({path_, "another model", "1 of 2 tensors", "\"w\"",
                  "not asked for are \"v\""});
}

TEST_F(BadCheckpoint, ManyOtherNames) {
  std::vector<NamedTensor> many;
  for (int i = 0; i < 9; ++i) many.push_back({fmt::format("v{}", i), step_});
  save(many);
  expect_refused({"2 of 2 tensors", "\"v3\" and 5 more"});
}

TEST_F(BadCheckpoint, OtherShape) {
  save({{"w", Tensor::full<float>({2, 2}, 1)}, {"step", step_}});
  expect_refused({path_, "\"w\" is f32 [2, 2] in it, expected f32 [4]"});
}

TEST_F(BadCheckpoint, OtherType) {
  save({{"w", Tensor::full<float>({4}, 1)},
        {"step", Tensor::full<int32_t>({}, 1)}});
  expect_refused({path_, "\"step\" is i32 [] in it, expected i64 []"});
}

TEST_F(SaverTest, ReshapesWhereAskedTo) {
  write_safetensors(checkpoint_file(path_),
                    {{{"w", Tensor::full<float>({2, 2}, 1)}}})
      .value();
  Model a(2);
  Saver(a.graph, {.variables = {{"w", a.w}}, .reshape = true})
      .restore(a.session, path_)
      .value();
  EXPECT_EQ(a.values(), "f32[4] 1 1 1 1, i64[] 7");
}

TEST_F(SaverTest, NoRoom) {
  Model a(1, 1 << 20);
  Saver saver(a.graph);
  saver.save(a.session, path_, {.write_meta_graph = false}).value();
  (void)a.session.run(a.more).value();
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit little{.rlim_cur = 1 << 20, .rlim_max = before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  const Status status = saver.save(a.session, path_).status();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code(), Code::kResource);
  EXPECT_THAT(status.message(), HasSubstr("cannot write " + path_));
  EXPECT_THAT(files(), UnorderedElementsAre("model.safetensors", "checkpoint"));
  saver.restore(a.session, path_).value();
  EXPECT_EQ(a.session.run(a.w).value().span<float>()[0], 1);
}

TEST_F(SaverTest, WhileAnotherThreadTrains) {
  Model a(0, 1 << 16);
  Saver saver(a.graph);
  std::atomic<bool> stop = false;
  std::thread trains([&] {
    while (!stop) (void)a.session.run({}, {}, {a.more.node}).value();
  });
  for (int i = 0; i < 5; ++i) {
    saver.save(a.session, path_, {.write_meta_graph = false}).value();
    const auto file = SafetensorsFile::open(checkpoint_file(path_)).value();
    const Tensor w = file.read("w").value();
    // Of one moment: every element has been counted as often.
    for (const float x : w.span<float>()) ASSERT_EQ(x, w.span<float>()[0]);
  }
  stop = true;
  trains.join();
}

TEST_F(SaverTest, AllVariablesAreSetAtOnce) {
  Model a(1);
  const Value other =
      variable(a.graph, constant(a.graph, Tensor::full<float>({4}, 1)));
  const Value next = a.w + ones(a.graph, {4});
  Node& set = assign_all({a.w, other}, {next, next});
  a.session.run(initializer(a.graph)).value();
  EXPECT_THROW(assign_all({a.w, a.step}, {next, next}), Error);
  EXPECT_THROW(assign_all({a.w, other}, {next}), Error);
  EXPECT_THROW(assign_all({a.w, a.w}, {next, next}), Error);
  EXPECT_THROW(assign_all({}, {}), Error);
  std::atomic<bool> stop = false;
  std::thread sets([&] {
    while (!stop) a.session.run(set).value();
  });
  for (int i = 0; i < 100; ++i) {
    const Tensor w = a.session.run(other).value();
    for (const float x : w.span<float>()) ASSERT_EQ(x, w.span<float>()[0]);
  }
  stop = true;
  sets.join();
  const auto both = a.session.run({a.w, other}, {}).value();
  EXPECT_EQ(both[0].to_string(), both[1].to_string());
}

TEST_F(SaverTest, VariablesOfSeveralContainers) {
  Graph g;
  const auto make_variable = [&](const char* name, float value) {
    return variable(g, constant(g, Tensor::full<float>({}, value)),
                    {.name = name, .container = name});
  };
  const Value a = make_variable("a", 1), b = make_variable("b", 2);
  const Value more = assign_add(a, b);
  Session session(g);
  Saver saver(g);
  session.run(initializer(g)).value();
  saver.save(session, path_).value();
  (void)session.run({more, assign(b, a)}, {}).value();
  saver.restore(session, path_).value();
  const auto both = session.run({a, b}, {}).value();
  EXPECT_EQ(both[0].span<float>()[0], 1);
  EXPECT_EQ(both[1].span<float>()[0], 2);
}

// A node can only set what is in its own process.
TEST_F(SaverTest, VariablesOfSeveralTasksAreSetByANodeEach) {
  Graph g;
  for (const char* device : {"/job:ps/task:0", "/job:ps/task:0/cpu:1",
                             "/job:ps/task:1", "/job:ps/task:1"}) {
    const DeviceScope scope(g, device);
    (void)variable(g, constant(g, 1, DType::kF32));
  }
  const Saver saver(g);
  std::vector<size_t> sizes;
  for (const auto& node : g.nodes())
    if (node->op().name == "AssignAll") sizes.push_back(node->inputs().size());
  EXPECT_THAT(sizes, ElementsAre(2, 2));
}

TEST_F(SaverTest, CancelledLeavesTheOldOne) {
  Model a(1, 1 << 20);
  Saver saver(a.graph);
  saver.save(a.session, path_).value();
  (void)a.session.run(a.more).value();
  Cancellation cancellation;
  cancellation.cancel(error(Code::kCancelled, "enough"));
  EXPECT_FALSE(
      saver.save(a.session, path_, {.cancellation = &cancellation}).ok());
  EXPECT_FALSE(saver.restore(a.session, path_, &cancellation).ok());
  EXPECT_EQ(a.session.run(a.w).value().span<float>()[0], 2);
  saver.restore(a.session, path_).value();
  EXPECT_EQ(a.session.run(a.w).value().span<float>()[0], 1);
}

TEST_F(SaverTest, FilesOfBytes) {
  Graph graph;
  Session session(graph);
  const Value name = constant(graph, text_tensor(path_));
  const Value text = constant(graph, text_tensor("some bytes"));
  session.run(write_file(name, text)).value();
  EXPECT_EQ(session.run(read_file(name)).value().bytes(), 10);
  const auto read = [&](const std::string& path) {
    return session.run(read_file(constant(graph, text_tensor(path))))
        .status()
        .message();
  };
  EXPECT_THAT(read(folder_), HasSubstr("is a folder"));
  EXPECT_THAT(read(path_ + "no"), HasSubstr("No such file"));
  EXPECT_THAT(read(""), HasSubstr("name is empty"));
  EXPECT_THROW(read_file(constant(graph, 1, DType::kF32)), Error);
  EXPECT_THROW(save(name, {"a", "b"}, {text}), Error);
  EXPECT_THROW(save(name, {"a", "a"}, {text, text}), Error);
  EXPECT_THROW(restore(name, {"a"}, {}), Error);
}

TEST_F(SaverTest, ImportsIntoAGraph) {
  Model a(1);
  save_graph(a.graph, path_);
  Graph graph;
  const Value x = placeholder(graph, {.name = "x"});
  {
    const NameScope scope(graph, "scope");
    import_graph(graph, path_);
  }
  EXPECT_EQ(graph.collection(kVariables).size(), 2);
  EXPECT_EQ(graph.value("w").node->name(), "w");
  const size_t nodes = graph.nodes().size();
  EXPECT_THROW(import_graph(graph, path_), Error);
  EXPECT_EQ(graph.nodes().size(), nodes);
  Session session(graph);
  session.run(initializer(graph)).value();
  EXPECT_EQ(
      session.run({graph.value("step"), x}, {{x, Tensor::full<float>({}, 1)}})
          .value()[0]
          .to_string(),
      "i64[] 7");
}

}  // namespace
}  // namespace rondo
