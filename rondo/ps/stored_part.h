// StoredPart: elements of a key that a parameter server keeps, with who has
// pushed them and who waits for them.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <vector>

#include "rondo/base/mutex.h"
#include "rondo/cluster/link.h"
#include "rondo/ps/gradient_sum.h"
#include "rondo/ps/kv_messages.h"
#include "rondo/ps/kv_rules.h"
#include "rondo/ps/members.h"

namespace rondo {

// An update of a part: what goes into the log before it is made.
struct PartUpdate {
  int64_t part = 0;
  int64_t version = 0;  // of the part, behind it
  double learning_rate = 0;
  std::vector<std::pair<int, int64_t>> pushes;  // worker, sequence
  KvGradient gradient;
};

// That a part was set, at which version: what goes into the log, with the
// tensors.
struct PartSetting {
  int64_t part = 0;
  int64_t version = 0;
  BetaPowers powers;
};

// Everything about a part, with tensors that the part will not change.
struct PartImage {
  kv::AddPart what;
  bool initialized = false;
  int64_t version = 0;
  std::vector<int64_t> counted;  // by worker
  KvState state;
};

// Thread-safe. Answers are given by who called, once no lock is held.
class StoredPart {
 public:
  using Answer = LinkServer::Answer;
  // What is to be answered, and with what.
  class Answers {
   public:
    ~Answers() { give(); }
    void add(Answer answer, Result<LinkAnswer> what) {
      list_.emplace_back(std::move(answer), std::move(what));
    }
    void give();

   private:
    std::vector<std::pair<Answer, Result<LinkAnswer>>> list_;
  };
  // Keeps an update, or an initial value, for ever.
  struct Log {
    bool keeps = false;  // whether there is one
    std::function<Status(const PartUpdate&)> update;
    std::function<Status(int64_t part, const Tensor& value)> initialize;
    std::function<Status(const PartSetting&, std::span<const Tensor>)> set;
  };

  // Who calls, and by which link; later links have higher numbers.
  struct From {
    int worker = 0;
    uint64_t link = 0;
  };

  StoredPart(int64_t number, kv::AddPart what, const KvRules& rules,
             const Members& members, const Log& log);

  const kv::AddPart& what() const { return what_; }
  // What it is set by: the value, and what the optimizer keeps.
  size_t tensors() const { return 1 + optimizer_.slots(); }
  // The first value wins.
  void initialize(const Tensor& value, Answers& answers, Status& status);
  kv::PartAnswer about(int worker) const;
  // Where they throw, `answer` is still the caller's, unless it was moved away
  // and will be given.
  void push(From from, const kv::Push& call, std::vector<Tensor> tensors,
            Answer& answer, Answers& answers);
  void pull(From from, const kv::Pull& call, std::vector<Tensor> tensors,
            Answer& answer, Answers& answers);
  // Ends the waits that are too long, or for somebody lost.
  void look_after(Answers& answers);
  // The value and the slots become these, whatever they were.
  void set(const kv::SetPart& call, const std::vector<Tensor>& tensors,
           Answers& answers, Status& status);
  // All calls about it, also those that wait, end with this.
  void fail(const Status& why, Answers& answers);
  // Somebody has left, so something may be complete.
  void settle(Answers& answers);

  PartImage image() const;
  // What is read from files is checked as what comes from workers is.
  Status restore(PartImage image);
  // From the log: made again unless it was made already.
  Status replay(const PartUpdate& update);
  Status replay(const Tensor& value);
  Status replay(const PartSetting& setting, std::vector<Tensor> tensors);

 private:
  struct Pushed {
    kv::Push call;
    uint64_t link = 0;
    KvGradient gradient;
    Answer answer;
    Deadline deadline = Deadline::never();
  };
  struct Waiting {
    int64_t step = 0;
    int worker = 0;
    Tensor indices = {};  // of rows
    bool by_rows = false;
    int64_t slot = -1;     // of these instead of the value
    bool pushed = false;   // it is the answer to a push
    bool changed = false;  // rows that have changed `since`
    int64_t since = -1;
    Answer answer;
    Deadline deadline = Deadline::never();
  };
  using Step = std::map<int, Pushed>;  // by worker

  Result<KvGradient> gradient_of(const kv::Push& call,
                                 std::vector<Tensor> tensors) const;
  Result<Tensor> local_rows(const Tensor& indices) const;
  Status check_push(int worker, const kv::Push& call) const
      RONDO_REQUIRES(mutex_);
  // Whether one more answer may wait.
  Status check_waiting(int worker) const RONDO_REQUIRES(mutex_);
  void wait_for_others(int worker, Pushed pushed, Answers& answers)
      RONDO_REQUIRES(mutex_);
  bool complete(const Step& step) const;
  void apply(Step step, Answers& answers) RONDO_REQUIRES(mutex_);
  Status log_and_make(PartUpdate& update, std::span<const KvGradient> gradients)
      RONDO_REQUIRES(mutex_);
  void make(const PartUpdate& update) RONDO_REQUIRES(mutex_);
  void acknowledge(int worker, Pushed& pushed, Answers& answers)
      RONDO_REQUIRES(mutex_);
  void settle_locked(Answers& answers) RONDO_REQUIRES(mutex_);
  void answer_waiting(Answers& answers) RONDO_REQUIRES(mutex_);
  std::string push_answer() const RONDO_REQUIRES(mutex_);
  bool ready(const Waiting& one) const RONDO_REQUIRES(mutex_);
  Result<LinkAnswer> answer_for(const Waiting& one) const
      RONDO_REQUIRES(mutex_);
  LinkAnswer value_for(const Waiting& one) const RONDO_REQUIRES(mutex_);
  Tensor rows_of(const Tensor& indices) const RONDO_REQUIRES(mutex_);
  LinkAnswer changed_rows(int64_t since) const RONDO_REQUIRES(mutex_);
  // The same, of changes that are in recent_.
  std::vector<int64_t> recently_changed(int64_t since) const
      RONDO_REQUIRES(mutex_);
  // The part has changed so, to its present version.
  void note_change(const KvGradient& gradient) RONDO_REQUIRES(mutex_);
  Status check_state(const std::vector<Tensor>& tensors) const;
  // An update from the log.
  Status check_gradient(const KvGradient& gradient) const;
  void take(const BetaPowers& powers, std::vector<Tensor> tensors)
      RONDO_REQUIRES(mutex_);
  // Whom a pull of this step, or the next update, waits for.
  std::vector<int> awaited(int64_t step) const RONDO_REQUIRES(mutex_);
  // Why there is no use in waiting any more, or ok.
  Status hopeless(int64_t step, const Deadline& deadline) const
      RONDO_REQUIRES(mutex_);
  std::string name() const;

  const int64_t number_;
  const kv::AddPart what_;
  const KvRules& rules_;
  const Members& members_;
  const Log& log_;
  const KvOptimizer optimizer_;

  mutable Mutex mutex_;
  bool initialized_ RONDO_GUARDED_BY(mutex_) = false;
  KvState state_ RONDO_GUARDED_BY(mutex_);
  int64_t version_ RONDO_GUARDED_BY(mutex_) = 0;
  // Of a key by rows: the version in which each row changed last, and all did.
  std::vector<int64_t> changed_ RONDO_GUARDED_BY(mutex_);
  int64_t all_changed_ RONDO_GUARDED_BY(mutex_) = 0;
  // Which rows the last changes were of, from the version behind recent_since_
  // on, so that nobody has to look at all.
  static constexpr size_t kRecent = 1024;
  std::deque<std::pair<int64_t, std::vector<int64_t>>> recent_
      RONDO_GUARDED_BY(mutex_);
  size_t recent_rows_ RONDO_GUARDED_BY(mutex_) = 0;
  int64_t recent_since_ RONDO_GUARDED_BY(mutex_) = 0;
  // Each worker's last push that has been applied, or came too late.
  std::vector<int64_t> counted_ RONDO_GUARDED_BY(mutex_);
  std::map<int64_t, Step> steps_ RONDO_GUARDED_BY(mutex_);  // by sequence
  std::list<Waiting> waiting_ RONDO_GUARDED_BY(mutex_);
  // Why the log could not be written, or what is in it could not be made. Ends
  // everything about this part.
  Status failure_ RONDO_GUARDED_BY(mutex_);
};

}  // namespace rondo
