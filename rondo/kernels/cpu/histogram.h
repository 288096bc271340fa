// Histogram: the distribution of many numbers, in few.
#pragma once

#include <cstdint>
#include <vector>

namespace rondo {

// Buckets grow by a tenth from 1e-12 to 1e20 on both sides of 0, so that the
// error of what is read from them is relative to the numbers. One thread.
class Histogram {
 public:
  Histogram();

  void add(double x);  // finite

  double min() const { return count_ == 0 ? 0 : min_; }
  double max() const { return count_ == 0 ? 0 : max_; }
  int64_t count() const { return count_; }
  double sum() const { return sum_; }
  double sum_squares() const { return sum_squares_; }

  // What is below `limit`, and not in the bucket before.
  struct Bucket {
    double limit;
    double count;
  };
  // Never none; empty ones beside each other are one.
  std::vector<Bucket> buckets() const;

 private:
  double min_ = 0;
  double max_ = 0;
  int64_t count_ = 0;
  double sum_ = 0;
  double sum_squares_ = 0;
  std::vector<double> counts_;
};

}  // namespace rondo
