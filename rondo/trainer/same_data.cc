#include "rondo/trainer/same_data.h"

#include <algorithm>

#include "rondo/base/crc32c.h"

namespace rondo {
namespace {

double checksum(const Examples& examples) {
  const uint32_t files = examples.reader ? examples.reader->checksum() : 0;
  return crc32c(examples.labels.data(), examples.labels.bytes(), files);
}

}  // namespace

std::vector<double> marks_of(const TrainingData& data) {
  return {static_cast<double>(data.train.count()),
          static_cast<double>(data.test.count()), checksum(data.train),
          checksum(data.test)};
}

Status compare_marks(const TrainingData& data, int rank,
                     std::span<const double> mine,
                     std::span<const double> first) {
  if (std::ranges::equal(mine, first)) return {};
  const bool as_many = std::ranges::equal(mine.first(2), first.first(2));
  return error(Code::kMismatch,
               "rank {} has other data in {} than rank 0: {:.0f} examples to "
               "train on and {:.0f} to test with, where rank 0 has {}\n"
               "  do: give all hosts the same files",
               rank, data.name, mine[0], mine[1],
               as_many ? std::string("as many of other names or labels")
                       : fmt::format("{:.0f} and {:.0f}", first[0], first[1]));
}

Status check_same_data(Crew& crew, const TrainingData& data) {
  const std::vector<double> mine = marks_of(data);
  RONDO_ASSIGN_OR_RETURN(const std::vector<double> all, crew.gather(mine));
  return crew.agree(compare_marks(data, crew.rank(), mine,
                                  std::span(all).first(mine.size())));
}

}  // namespace rondo
