// LocalRendezvous: between the devices of one process. What is sent is handed
// over as it is, without a copy.
#pragma once

#include <mutex>
#include <unordered_map>

#include "rondo/runtime/rendezvous.h"

namespace rondo {

class RONDO_API LocalRendezvous final : public Rendezvous {
 public:
  Status send(const std::string& key, Parcel parcel) override;
  void recv(const std::string& key, Done done) override;
  void abort(const Status& why) override;
  // For the next step, once this one is over.
  void clear();

 private:
  // Of one key: who waits for it, or what waits for somebody.
  struct Meeting {
    Parcel parcel;
    Done waiter;
  };

  std::mutex mutex_;
  // Guarded by mutex_. Functions of waiters are called without it.
  Status why_;  // why it was aborted
  std::unordered_map<std::string, Meeting> meetings_;
};

}  // namespace rondo
