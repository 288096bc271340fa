// KvWorker: a worker of parameter servers: adds keys, pushes gradients, pulls
// values.
//
//   auto worker = KvWorker::connect(options).value();
//   worker->add({{"w", DType::kF32, {784, 10}}}, {initial}).value();
//   Tensor w = Tensor::empty({784, 10});
//   worker->pull("w", w).wait(deadline).value();
//   ... gradient ...
//   worker->push_pull("w", gradient, w).wait(deadline).value();
#pragma once

#include <unistd.h>

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/mutex.h"
#include "rondo/ps/kv_work.h"
#include "rondo/ps/server_link.h"
#include "rondo/ps/shards.h"

namespace rondo {

struct KvWorkerOptions {
  int worker = 0;   // which one of them, from 0
  int workers = 1;  // as many as the servers were started for
  int servers = 1;
  std::shared_ptr<Store> store;
  std::string token;
  bool shares_memory = true;
  Duration connect_timeout = seconds(60);
  // Of each push and pull, an hour at most. A server that is started again
  // within this time has not been away.
  Duration timeout = seconds(60);
  // A server that cannot be reached for so long is lost: for those that nobody
  // starts again.
  Duration server_patience = Duration::max();
  size_t most_part_bytes = ShardOptions().most_part_bytes;
  // Bytes of a key's pushes to one server that it has not answered yet, above
  // which further ones wait here and not on the way; 0: any number. A server
  // answers when all workers have pushed a part: who is far ahead only takes
  // the link to it from those who are not. Enough for parts to arrive, to be
  // added up and to be answered at the same time.
  size_t most_under_way = 4 * ShardOptions().most_part_bytes;
  // All workers push all keys in the same order, without which two might wait
  // for each other's next key for ever: the limit is for all keys together, and
  // parts go to one server after another. No key is by rows.
  bool in_order = false;
};

// `highest` becomes this number unless it is higher.
inline void note_highest(std::atomic<int64_t>& highest, int64_t number) {
  int64_t known = highest;
  while (known < number && !highest.compare_exchange_weak(known, number)) {
  }
}

// Rows of a key, one after another, and which they are.
struct KvRows {
  Tensor indices;  // i64
  Tensor rows;
};

struct PushOptions {
  // Instead of the server's. All workers give the same.
  double learning_rate = std::numeric_limits<double>::quiet_NaN();
  KvWork::Done done = {};
};

// Calls return at once; what is sent about a key goes in the order of the
// calls, so its values come in the order in which they are asked for. Other
// keys may come before those of which much is under way. A call's tensors are
// used until its work is over, and gradients must not be changed before. Of
// each key at most 64 pushes of the synchronous mode, and 1024 pulls, may be
// under way. Thread-safe.
class KvWorker {
 public:
  // Finds the servers through the store.
  static Result<std::unique_ptr<KvWorker>> connect(KvWorkerOptions options);
  // Without leave(): as if the process had been killed. In a child that was
  // forked nothing happens.
  ~KvWorker();
  KvWorker(const KvWorker&) = delete;

  // All workers add the same keys in the same lists. Whose `initial` values
  // come first wins, key by key; workers may give none (`initial` empty). Waits
  // for the servers' answers, but not for values: the first pull does, and has
  // to come before the first push.
  Status add(const std::vector<Key>& keys,
             const std::vector<Tensor>& initial = {});
  // This worker's part in the next step of a key. It is over when it has been
  // applied, and logged where servers have a log: it will not be lost then. The
  // gradient of an f32 key may be bf16, in half the bytes; servers add f32.
  KvWork push(std::string_view key, const Tensor& gradient,
              PushOptions options = {});
  // The key's value into memory of the same type and shape, behind all of this
  // worker's pushes of it (how far behind the others': KvMode).
  KvWork pull(std::string_view key, const Tensor& into, KvWork::Done done = {});
  // Both, with one call to each server.
  KvWork push_pull(std::string_view key, const Tensor& gradient,
                   const Tensor& into, PushOptions options = {});
  // Of a key that is by rows: those of `indices` (i64; for pushes, several of
  // the same add up), one after another in `rows`. Every worker pushes in every
  // step, if only no rows.
  KvWork push_rows(std::string_view key, const Tensor& indices,
                   const Tensor& rows, PushOptions options = {});
  KvWork pull_rows(std::string_view key, const Tensor& indices,
                   const Tensor& into, KvWork::Done done = {});
  // push_rows, and then all rows that anybody has changed since the last call
  // of this, by which a copy of the key stays what the servers have; at first,
  // and after forget_rows(), all. `changed` is good once the work is.
  KvWork push_pull_rows(std::string_view key, const Tensor& indices,
                        const Tensor& rows,
                        const std::shared_ptr<KvRows>& changed,
                        PushOptions options = {});
  // Also what calls that are under way will bring.
  Status forget_rows(std::string_view key);
  // This worker has all rows as they are now, since it knows what they were set
  // to: push_pull_rows() gives those that are pushed from now on, and maybe
  // some more.
  Status know_rows(std::string_view key);

  // The key's value, and what the optimizer keeps for it, become these. No
  // push of the key may be under way.
  KvWork set(std::string_view key, const Tensor& value,
             const std::vector<Tensor>& slots, const BetaPowers& powers = {});
  // What the optimizer keeps: slot 0, 1, ..., as pull().
  KvWork pull_slot(std::string_view key, int slot, const Tensor& into,
                   KvWork::Done done = {});

  // All calls of all workers fail from then on, with this reason. Does not
  // wait.
  void abort(const std::string& reason);
  // This worker will not push any more; the others go on without it. Waits, no
  // longer than until the deadline.
  Status leave(Deadline deadline = Deadline::never());
  // It will again, from now on: the others wait for it as before. Waits so,
  // too.
  Status come_back(Deadline deadline = Deadline::never());

  // Whether this process is a child, by fork, of the one that connected: it has
  // none of the threads, and nothing to say to its parent's servers.
  bool forked() const { return ::getpid() != pid_; }
  int servers() const { return options_.servers; }
  // How a key is divided.
  std::vector<KeyPart> parts(std::string_view key) const;

 private:
  struct Part {
    KeyPart range;
    int64_t flow = 0;  // of calls to its server, as ServerLink has it
    int64_t number = 0;
    int64_t sequence = 0;  // of the last push
    // Which version push_pull_rows() has seen. Answers note it.
    std::shared_ptr<std::atomic<int64_t>> seen =
        std::make_shared<std::atomic<int64_t>>(-1);
    // Steps that it is known to have made, by all workers. Answers note it.
    std::shared_ptr<std::atomic<int64_t>> made =
        std::make_shared<std::atomic<int64_t>>(0);
  };
  // Where workers push in order: what each server gets first, then what it gets
  // next, and so on. What a worker's link lets through at once is then for all
  // of them, and each can add up its first part when all workers have begun.
  std::vector<KeyPart> in_turn(std::vector<KeyPart> parts) const;
  struct Added {
    Key key;
    Mutex mutex;  // held while calls about the key are sent
    std::vector<Part> parts RONDO_GUARDED_BY(mutex);
  };
  // Rows that belong to one part: which, and where they were.
  struct RowsOfPart {
    Tensor indices;
    std::vector<int64_t> places;
  };
  struct Divided {
    std::shared_ptr<Added> added;
    std::vector<RowsOfPart> parts;
  };

  explicit KvWorker(KvWorkerOptions options);
  Deadline deadline() const { return Deadline(options_.timeout); }
  int64_t timeout_ms() const;
  ServerLink& link(const KeyPart& part) {
    return *links_[static_cast<size_t>(part.server)];
  }
  Result<std::shared_ptr<Added>> find(std::string_view key) const;
  Status check(const Added& added, const Tensor& tensor,
               std::string_view what) const;
  Status check_gradient(const Added& added, const Tensor& gradient) const;
  // Which rows of a key go to which part. `values` are as many rows.
  Result<Divided> divide(std::string_view key, const Tensor& indices,
                         const Tensor& values) const;
  Status claim(const std::vector<Key>& keys, std::vector<bool>& mine);
  // A call without a body to each server.
  Status tell_all(kv::Method method, Deadline deadline);
  Status add_parts(Added& added, const Tensor* initial);
  static KvWork refuse(const Status& why, const KvWork::Done& done);
  // Calls `send` for each part of a key, in order, to send a call that ends a
  // part of the work which this returns. Pushes are a new step.
  using Send = std::function<void(size_t, const Part&, const KvWork&)>;
  KvWork to_each_part(Added& added, bool pushes, KvWork::Done done,
                      const Send& send);
  KvWork pull_into(std::string_view key, int slot, const Tensor& into,
                   KvWork::Done done);
  KvWork push_into(std::string_view key, const Tensor& gradient,
                   const Tensor* into, PushOptions options);
  // Numbers the next push of a key: behind the last, and behind what all its
  // parts have made without this worker.
  static void next_step(Added& added) RONDO_REQUIRES(added.mutex);
  void send_push(const Part& part, const PushOptions& options,
                 std::vector<Tensor> tensors, bool by_rows, const Tensor* into,
                 const KvWork& work);
  // One that pulls the rows that have changed.
  void send_rows(const Part& part, const PushOptions& options,
                 std::vector<Tensor> tensors, KvRows& changed,
                 const KvWork& work);
  KvWork::Done sticky(KvWork::Done done);

  const KvWorkerOptions options_;
  const pid_t pid_ = ::getpid();  // whose the connections and threads are
  std::atomic<int64_t> flows_ = 0;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<Added>, std::less<>> keys_
      RONDO_GUARDED_BY(mutex_);
  // A push that failed: who would go on would be out of step. Outlives this.
  struct Failure {
    Mutex mutex;
    Status status RONDO_GUARDED_BY(mutex);
  };
  std::shared_ptr<Failure> failure_ = std::make_shared<Failure>();
  std::vector<std::unique_ptr<ServerLink>> links_;  // by server
};

}  // namespace rondo
