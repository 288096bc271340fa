// TrainOptions: what `rondo train` is told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rondo/base/env.h"
#include "rondo/base/status.h"

namespace rondo {

struct TrainOptions {
  std::string model;
  std::string data;
  // Of whoever starts the workers; a worker takes what the environment says.
  int workers = 1;
  int servers = 0;
  int64_t staleness = -1;     // of the strategy ssp; -1: its own
  std::optional<int> backup;  // of the strategy ps; else as RONDO_BACKUP says
  std::string strategy;       // empty: ring, or single for one worker

  int64_t epochs = 1;
  int64_t steps = 0;   // instead of epochs, where it is above 0
  int64_t batch = 64;  // of all workers together
  std::string optimizer = "momentum";
  double lr = 0;               // 0: what suits the optimizer
  std::string decay = "none";  // of the rate: none, or cosine to 0 at the end
  std::string precision = "fp32";  // of products and convolutions
  std::string wire = "fp32";       // as what gradients travel
  // Whether those of fully connected layers travel as their factors.
  std::string factors = "auto";
  bool tune_buckets = false;  // whether sizes of buckets are tried
  int64_t seed = 1;

  std::string checkpoint;  // a folder; empty: none
  bool resume = false;
  int64_t save_every = 0;   // steps; 0: with each epoch
  std::string logdir;       // of event files; empty: none
  std::string trace;        // a file; empty: none
  std::string trace_steps;  // "10:14"; empty: a few
  int64_t log_every = 0;    // steps; 0: every few seconds
  bool speedup = false;     // measured at the end
  int columns = 0;          // of the terminal; 0: there is none

  // The rate, where it was not given.
  double rate() const;
};

// What cannot work, said before anything is started. `workers` counts.
Status check(const TrainOptions& options);

// Of that, how gradients travel: only some strategies can be told. `strategy`
// is its name, for who has it from somewhere else than the options.
Status check_travel(const TrainOptions& options, const std::string& strategy);

// Whether there can be backup workers, where the options or the environment ask
// for them: nobody ignores that.
Status check_backups(const TrainOptions& options, const Env& env);

}  // namespace rondo
