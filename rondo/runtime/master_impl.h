// MasterImpl: what sessions have in common that a master runs.
#pragma once

#include "rondo/runtime/master.h"
#include "rondo/runtime/session_impl.h"

namespace rondo {

class MasterImpl : public Session::Impl {
 public:
  using Impl::Impl;

  Result<std::vector<Tensor>> run(const std::vector<Value>& fetches,
                                  const std::vector<Feed>& feeds,
                                  const std::vector<Node*>& targets,
                                  const RunOptions& options) override {
    return master().run(fetches, feeds, targets, options);
  }
  Result<std::string> explain_placement(
      const std::vector<Value>& fetches, const std::vector<Value>& feeds,
      const std::vector<Node*>& targets) override {
    return master().explain(fetches, feeds, targets);
  }
  void close() override { master().close(); }

 private:
  // Its options refer to members of the kind of session, which therefore has
  // it.
  virtual Master& master() = 0;
};

}  // namespace rondo
