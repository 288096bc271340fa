#include "rondo/trainer/synthetic.h"

#include <random>
#include <vector>

#include "rondo/trainer/text_file.h"

namespace rondo {
namespace {

constexpr unsigned kSeed = 1;

// random() % n rather than a distribution, which is another in each library.
uint8_t below(std::mt19937& random, unsigned n) {
  return static_cast<uint8_t>(random() % n);
}

Examples images(std::mt19937& random, const std::vector<uint8_t>& pictures,
                const SyntheticImages& options, int64_t count) {
  Examples made{
      Tensor::empty({count, options.side, options.side, options.channels},
                    DType::kU8),
      Tensor::empty({count}, DType::kU8)};
  const auto pixels = static_cast<size_t>(made.inputs.count() / count);
  uint8_t* pixel = made.inputs.span<uint8_t>().data();
  for (uint8_t& label : made.labels.span<uint8_t>()) {
    label = below(random, static_cast<unsigned>(options.classes));
    for (size_t i = 0; i < pixels; ++i)
      *pixel++ = static_cast<uint8_t>(pictures[label * pixels + i] +
                                      below(random, 128));
  }
  return made;
}

}  // namespace

TrainingData synthetic_images(const SyntheticImages& options) {
  std::mt19937 random(kSeed);
  const int64_t pixels = options.side * options.side * options.channels;
  std::vector<uint8_t> pictures(static_cast<size_t>(options.classes * pixels));
  for (uint8_t& pixel : pictures) pixel = below(random, 128);
  TrainingData data{.name = "synthetic", .classes = options.classes};
  data.train = images(random, pictures, options, options.train);
  data.test = images(random, pictures, options, options.test);
  return data;
}

Result<TrainingData> synthetic_text(int64_t bytes, int64_t places) {
  std::mt19937 random(kSeed);
  std::vector<std::string> words(64);
  for (std::string& word : words) {
    for (int length = 2 + below(random, 6); length > 0; --length)
      word += static_cast<char>('a' + below(random, 26));
    word += ' ';
  }
  std::string text;
  while (static_cast<int64_t>(text.size()) < bytes)
    text += words[below(random, 64)];
  return text_examples("synthetic", text, places);
}

}  // namespace rondo
