// check_same_data: whether all workers found the same examples.
//
// Each host reads its own files. Where these differ, workers would take other
// examples than they agreed on, or have another number of steps and wait for
// each other without end.
#pragma once

#include <span>
#include <vector>

#include "rondo/trainer/crew.h"
#include "rondo/trainer/examples.h"

namespace rondo {

// Numbers that are the same where the examples are: how many there are, and
// checksums of their labels and of the files that have them.
std::vector<double> marks_of(const TrainingData& data);

// What rank `rank`, which has `mine`, says when rank 0 has `first`.
Status compare_marks(const TrainingData& data, int rank,
                     std::span<const double> mine,
                     std::span<const double> first);

// All workers call it. The first that has other data than rank 0 says so.
Status check_same_data(Crew& crew, const TrainingData& data);

}  // namespace rondo
