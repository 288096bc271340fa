#include "rondo/train/checkpoint_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CheckpointStateTest : public testing::Test {
 protected:
  CheckpointStateTest() {
    std::string pattern =
        std::filesystem::temp_directory_path() / "rondoXXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~CheckpointStateTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(CheckpointStateTest, ThereAndBack) {
  const std::string odd = folder_ + "/m\"\\\n\xC3\xA4 7";
  ASSERT_TRUE(update_checkpoint_state(
                  folder_, {.model_checkpoint_path = odd,
                            .all_model_checkpoint_paths = {folder_ + "/m-1",
                                                           "/elsewhere/m", odd},
                            .all_model_checkpoint_timestamps = {1.5, 2, 3e9},
                            .last_preserved_timestamp = 0.25})
                  .ok());
  const auto state = get_checkpoint_state(folder_).value();
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->model_checkpoint_path, odd);
  EXPECT_THAT(state->all_model_checkpoint_paths,
              ElementsAre(folder_ + "/m-1", "/elsewhere/m", odd));
  EXPECT_THAT(state->all_model_checkpoint_timestamps, ElementsAre(1.5, 2, 3e9));
  EXPECT_EQ(state->last_preserved_timestamp, 0.25);
  EXPECT_FALSE(get_checkpoint_state(folder_, "other").value().has_value());
}

TEST_F(CheckpointStateTest, AFolderCanBeMoved) {
  ASSERT_TRUE(update_checkpoint_state(folder_ + "/",
                                      {.model_checkpoint_path = folder_ + "/m"})
                  .ok());
  const std::string moved = folder_ + "-moved";
  std::filesystem::rename(folder_, moved);
  folder_ = moved;
  // Without its file there is no checkpoint.
  EXPECT_FALSE(latest_checkpoint(moved).value().has_value());
  std::ofstream(moved + "/m.safetensors") << "";
  EXPECT_EQ(latest_checkpoint(moved).value(), moved + "/m");
}

TEST_F(CheckpointStateTest, ADamagedFile) {
  const auto why_not = [&](const std::string& text) {
    std::ofstream(folder_ + "/checkpoint") << text;
    const auto state = get_checkpoint_state(folder_);
    return state.ok() ? "it is fine" : state.status().message();
  };
  EXPECT_THAT(why_not(""), HasSubstr("it names none as the latest"));
  EXPECT_THAT(why_not("model_checkpoint_path: \"a"), HasSubstr("line 1"));
  EXPECT_THAT(why_not("\nwhat is this\n"), HasSubstr("line 2"));
  EXPECT_THAT(why_not("model_checkpoint_path: \"a\"\nlater: 3\n"
                      "last_preserved_timestamp: x"),
              HasSubstr("line 3"));
  EXPECT_EQ(why_not("model_checkpoint_path: \"a\"\nlater: 3\n"), "it is fine");
}

TEST_F(CheckpointStateTest, AFileThatCannotBeRead) {
  std::filesystem::create_directory(folder_ + "/checkpoint");
  EXPECT_THAT(get_checkpoint_state(folder_).status().message(),
              HasSubstr("cannot read the list of checkpoints"));
}

TEST(Checkpoint, Names) {
  EXPECT_EQ(checkpoint_file("a/m-1"), "a/m-1.safetensors");
  EXPECT_EQ(checkpoint_file("m.safetensors"), "m.safetensors");
  EXPECT_EQ(checkpoint_name("m.safetensors"), "m");
  EXPECT_FALSE(checkpoint_exists("/no/such/model"));
}

}  // namespace
}  // namespace rondo
