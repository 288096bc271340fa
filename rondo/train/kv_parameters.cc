#include "rondo/train/kv_parameters.h"

#include <exception>

namespace rondo {
namespace {

Result<Key> key_of(const Parameter& parameter) {
  RONDO_ASSIGN_OR_RETURN(const KvOptimizer optimizer,
                         KvOptimizer::from_numbers(parameter.optimizer));
  const size_t most = 1 + optimizer.slots() + 2;
  if (parameter.tensors.size() < 1 + optimizer.slots() ||
      parameter.tensors.size() > most)
    return error(Code::kInvalidArgument,
                 "\"{}\" has {} tensors, but its optimizer keeps {}",
                 parameter.key, parameter.tensors.size(), optimizer.slots());
  const Tensor& value = parameter.tensors[0];
  return Key{.name = parameter.key,
             .dtype = value.dtype(),
             .shape = value.shape(),
             .by_rows = parameter.by_rows,
             .optimizer = optimizer};
}

// Who reads it compares two of them.
std::string described(const Key& key) {
  constexpr const char* kRules[] = {"GradientDescent",
                                    "Momentum",
                                    "Nesterov's Momentum",
                                    "Adagrad",
                                    "RMSProp",
                                    "centered RMSProp",
                                    "Adam"};
  const KvOptimizer& by = *key.optimizer;
  std::string text =
      fmt::format("{}{} by {}", name_of(key.dtype), key.shape.to_string(),
                  kRules[static_cast<size_t>(by.rule)]);
  constexpr std::pair<const char*, double KvOptimizer::*> kRates[] = {
      {"momentum", &KvOptimizer::momentum},
      {"rho", &KvOptimizer::rho},
      {"epsilon", &KvOptimizer::epsilon},
      {"beta1", &KvOptimizer::beta1},
      {"beta2", &KvOptimizer::beta2},
      {"weight_decay", &KvOptimizer::weight_decay}};
  for (const auto& [name, rate] : kRates)
    if (by.*rate != 0) text += fmt::format(" {} {}", name, by.*rate);
  return text + (key.by_rows ? ", in rows" : "");
}

// Whether servers treat them alike. Learning rates come with gradients.
bool alike(const Key& a, Key b) {
  b.optimizer->learning_rate = a.optimizer->learning_rate;
  return a == b;
}

}  // namespace

// The others must not wait for a rank whose program came to its end. Where it
// did not, they are to hear that it was lost. Who lets go of it may hold locks,
// such as Python's, so this is a short wait.
KvParameters::~KvParameters() {
  constexpr Duration kGoodbye = std::chrono::seconds(2);
  if (std::uncaught_exceptions() == 0) leave(Deadline(kGoodbye));
}

Status KvParameters::add(const std::vector<Parameter>& parameters) {
  std::vector<Key> keys;
  for (const Parameter& one : parameters) {
    RONDO_ASSIGN_OR_RETURN(Key key, key_of(one));
    const auto known = known_.find(one.key);
    if (known == known_.end())
      keys.push_back(std::move(key));
    else if (!alike(known->second, key))
      return error(Code::kInvalidArgument,
                   "the parameter servers have \"{}\" as {}, and not as {}: "
                   "they keep a variable as the first graph of the job trained "
                   "it; give the other one another name",
                   one.key, described(known->second), described(key));
  }
  if (!keys.empty()) RONDO_RETURN_IF_ERROR(worker_->add(keys));
  for (const Key& key : keys) known_.emplace(key.name, key);
  return {};
}

Status KvParameters::set_all(const std::vector<Parameter>& parameters) {
  std::vector<KvWork> works;
  for (const Parameter& one : parameters) {
    RONDO_ASSIGN_OR_RETURN(const Key key, key_of(one));
    const auto slots = static_cast<std::ptrdiff_t>(key.optimizer->slots());
    const auto first = one.tensors.begin() + 1;
    BetaPowers powers{static_cast<float>(key.optimizer->beta1),
                      static_cast<float>(key.optimizer->beta2)};
    if (one.tensors.end() - first == slots + 2)
      powers = {first[slots].span<float>()[0],
                first[slots + 1].span<float>()[0]};
    works.push_back(
        worker_->set(one.key, one.tensors[0], {first, first + slots}, powers));
  }
  // Each has a deadline of its own.
  for (const KvWork& work : works)
    RONDO_RETURN_IF_ERROR(work.wait(Deadline::never()));
  return {};
}

Status KvParameters::set(std::vector<Parameter> parameters) {
  RONDO_RETURN_IF_ERROR(add(parameters));
  // Nobody pushes from here on, until everything is set.
  RONDO_RETURN_IF_ERROR(comm_.barrier());
  if (comm_.rank() == 0) RONDO_RETURN_IF_ERROR(set_all(parameters));
  for (const Parameter& one : parameters)
    if (one.by_rows) RONDO_RETURN_IF_ERROR(worker_->know_rows(one.key));
  return comm_.barrier();
}

void KvParameters::push_pull(const std::string& key, const Tensor& gradient,
                             double learning_rate, const Tensor& into,
                             Done done) {
  worker_->push_pull(key, gradient, into,
                     {.learning_rate = learning_rate, .done = std::move(done)});
}

void KvParameters::push_pull_rows(const std::string& key, const Rows& gradient,
                                  double learning_rate,
                                  std::shared_ptr<Rows> changed, Done done) {
  auto rows = std::make_shared<KvRows>();
  worker_->push_pull_rows(
      key, gradient.indices, gradient.rows, rows,
      {.learning_rate = learning_rate,
       .done = [rows, changed, done = std::move(done)](const Status& status) {
         *changed = {rows->indices, rows->rows};
         done(status);
       }});
}

void KvParameters::forget_rows(const std::string& key) {
  // A key that servers do not know has no rows either.
  (void)worker_->forget_rows(key);
}

void KvParameters::pull_slots(const std::string& key, std::vector<Tensor> into,
                              Done done) {
  // One more than slots: over when all are, also where there are none.
  const KvWork all(static_cast<int>(into.size()) + 1, std::move(done));
  for (size_t k = 0; k < into.size(); ++k)
    worker_->pull_slot(
        key, static_cast<int>(k), into[k],
        [all](const Status& status) { all.finish_part(status); });
  all.finish_part({});
}

void KvParameters::give_up(const std::string& reason) {
  if (!together_) return;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(over_, true)) return;
  }
  worker_->abort(reason);
}

Status KvParameters::pause() { return worker_->leave(); }

Status KvParameters::resume() {
  RONDO_RETURN_IF_ERROR(worker_->come_back());
  // No step is made without those who have not come back yet.
  return comm_.barrier();
}

void KvParameters::leave(Deadline deadline) {
  if (worker_->forked()) return;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(over_, true)) return;
  }
  // Servers that are gone need not be told.
  (void)worker_->leave(deadline);
}

}  // namespace rondo
