#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/io.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

using testing::HasSubstr;

class FileIo : public testing::Test {
 protected:
  FileIo() { std::filesystem::create_directories(folder); }
  ~FileIo() override { std::filesystem::remove_all(folder); }
  Value name(const std::string& file) {
    return constant(g, text_tensor((folder / file).string()));
  }

  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() /
      fmt::format("rondo_file_io_{}", ::getpid());
  Graph g;
  Session session{g, {.inter_op_threads = 1, .intra_op_threads = 1}};
};

TEST_F(FileIo, NoThreadOfTheExecutorWaitsForAFile) {
  const Value x = placeholder(g, {.shape = {3}});
  Node& saved = save(name("a"), {"x"}, {x});
  Value back;
  {
    const ControlScope after(g, {&saved});
    back = restore(name("a"), {"x"},
                   {.dtypes = {DType::kF32}, .shapes = {{3}}})[0];
  }
  Node& written = write_file(name("b"), constant(g, text_tensor("hello")));
  Value read;
  {
    const ControlScope after(g, {&written});
    read = read_file(name("b"));
  }
  Timeline timeline;
  const auto got =
      session
          .run({exp(back), read}, {{x, Tensor::full<float>({3}, 0)}}, {},
               {.timeline = &timeline})
          .value();
  EXPECT_EQ(got[0].span<float>()[2], 1);
  EXPECT_EQ(got[1].count(), 5);
  std::map<std::string, int> threads;
  for (const auto& event : timeline.events()) threads[event.op] = event.thread;
  for (const char* op : {"Save", "Restore", "WriteFile", "ReadFile"}) {
    ASSERT_TRUE(threads.contains(op)) << op;
    EXPECT_NE(threads[op], threads["Exp"]) << op;
  }
}

TEST_F(FileIo, AFailureNamesTheNodeAndTheSessionGoesOn) {
  const Value missing = read_file(name("missing"));
  for (int i = 0; i < 3; ++i) {
    const auto got = session.run(missing);
    ASSERT_FALSE(got.ok());
    EXPECT_THAT(got.status().message(), HasSubstr("ReadFile"));
    EXPECT_THAT(got.status().message(), HasSubstr("cannot open"));
  }
}

TEST_F(FileIo, ManyTransfersAtOnce) {
  std::vector<Value> all;
  for (int i = 0; i < 20; ++i) {
    const std::string text(static_cast<size_t>(i), 'x');
    Node& written =
        write_file(name(std::to_string(i)), constant(g, text_tensor(text)));
    const ControlScope after(g, {&written});
    all.push_back(read_file(name(std::to_string(i))));
  }
  const auto got = session.run(all, {}).value();
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(got[static_cast<size_t>(i)].count(), i);
}

}  // namespace
}  // namespace rondo
