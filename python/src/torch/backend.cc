#include "backend.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "errors.h"
#include "mapped.h"
#include "rondo/base/env.h"
#include "signals.h"
#include "stores.h"

namespace rondo::torch {
namespace {

// Every connection between the ranks proves a secret. Whoever can read the
// group's store may know it.
Result<std::string> agree_on_token(Store& store, int rank, Deadline deadline) {
  if (rank != 0) return store.get("token", deadline);
  std::array<unsigned char, 16> bytes;
  if (RAND_bytes(bytes.data(), bytes.size()) != 1)
    return error(Code::kInternal, "OpenSSL has no random numbers");
  std::string token;
  for (const unsigned char byte : bytes)
    token += fmt::format("{:02x}", static_cast<int>(byte));
  RONDO_RETURN_IF_ERROR(store.set("token", token));
  return token;
}

Result<Communicator> connect(c10::intrusive_ptr<c10d::Store> c10d_store,
                             int rank, int size,
                             const Backend::Options& options) {
  RONDO_ASSIGN_OR_RETURN(auto settings,
                         CommunicatorOptions::from_env(Env::process()));
  const double timeout = to_seconds(options.timeout);
  settings.timeout = settings.connect_timeout = timeout;
  if (!options.group_name.empty())
    settings.name = fmt::format("\"{}\"", options.group_name);
  if (size == 1) return Communicator::connect(nullptr, 0, 1, settings);
  auto store = prefix_store(from_c10d(std::move(c10d_store)), "rondo");
  if (settings.token.empty()) {
    RONDO_ASSIGN_OR_RETURN(
        settings.token,
        agree_on_token(*store, rank, Deadline(seconds(timeout))));
  }
  return Communicator::connect(std::move(store), rank, size, settings);
}

// Only ever grows: objects of a process group that a forked child inherited.
// Their threads are the parent's, and so is saying goodbye to the others.
template <class T>
void leak(T object) {
  new T(std::move(object));
}

}  // namespace

Backend::Backend(c10::intrusive_ptr<c10d::Store> store, int rank, int size,
                 c10::intrusive_ptr<Options> options)
    : c10d::Backend(rank, size),
      options_(std::move(options)),
      pid_(getpid()),
      runner_(std::make_shared<Runner>()) {
  SignalInterrupt interrupt;
  auto comm = connect(std::move(store), rank, size, *options_);
  interrupt.after();
  comm_ = value_or_throw(std::move(comm));
  if (size == 1) return;
  auto mailbox = Mailbox::open(comm_);
  interrupt.after();
  mailbox_ = value_or_throw(std::move(mailbox));
}

Backend::~Backend() {
  if (pid_ == getpid()) {
    close("its process group is gone");
    return;
  }
  leak(std::move(comm_));
  leak(std::move(mailbox_));
  leak(std::move(runner_));
}

// ---- Running ----------------------------------------------------------------

void Backend::check_usable(const char* operation) const {
  TORCH_CHECK_WITH(
      DistBackendError, pid_ == getpid(), "rondo: ", operation,
      ": this process (pid ", getpid(),
      ") was forked after its process group was made by pid ", pid_,
      "; call init_process_group in the child, or start it with spawn");
  TORCH_CHECK_WITH(DistBackendError, !closed_.load(), "rondo: ", operation,
                   ": the process group was destroyed");
}

void Backend::check_rank(const char* operation, int64_t rank) const {
  TORCH_CHECK_VALUE(rank >= 0 && rank < getSize(), "rondo: ", operation,
                    ": rank ", rank, " is not one of the group's 0..",
                    getSize() - 1);
}

Duration Backend::timeout_or(std::chrono::milliseconds timeout) const {
  return timeout > std::chrono::milliseconds::zero() ? timeout
                                                     : options_->timeout;
}

Backend::WorkPtr Backend::launch(Launch what, Body body) {
  CallOptions call;
  call.timeout = timeout_or(what.timeout);
  const bool async = what.async;
  auto work = c10::make_intrusive<Work>(
      getRank(), Work::What{what.type, what.title, std::move(what.inputs),
                            std::move(what.outputs), ++sequence_});
  auto job = [this, work, call, body = std::move(body)] {
    Status status;
    try {
      // Copies into the caller's tensors are not for autograd.
      const at::AutoDispatchBelowADInplaceOrView guard;
      status = body(comm_, call);
    } catch (const std::exception& e) {
      status = error(Code::kInternal, "{}", e.what());
      comm_.abort(status.message());  // or the others would wait
    }
    if (!status.ok()) failed_.store(true);
    work->end(status);
  };
  if (async) {
    runner_->start(std::move(job));
    return work;
  }
  SignalInterrupt interrupt;
  runner_->run(std::move(job));
  interrupt.after();
  return work;
}

// ---- Groups and memory ------------------------------------------------------

c10::intrusive_ptr<c10d::Backend> Backend::split(
    const c10::intrusive_ptr<c10d::Store>& store, const std::vector<int>& ranks,
    const c10::intrusive_ptr<c10d::Backend::Options>& options) {
  check_usable("split");
  const auto mine = std::find(ranks.begin(), ranks.end(), getRank());
  if (mine == ranks.end()) return nullptr;
  auto own = c10::make_intrusive<Options>(options ? options->timeout
                                                  : options_->timeout);
  if (options) {
    own->group_name = options->group_name;
    own->group_desc = options->group_desc;
    own->global_ranks_in_group = options->global_ranks_in_group;
  }
  return c10::make_intrusive<Backend>(
      store, static_cast<int>(mine - ranks.begin()),
      static_cast<int>(ranks.size()), std::move(own));
}

bool Backend::supportsTensorAlloc(c10::DeviceIndex index) {
  return index <= 0 && can_map();
}

at::Tensor Backend::allocateTensor(long size, at::TensorOptions options) {
  TORCH_CHECK_VALUE(options.device().is_cpu(),
                    "rondo: allocates tensors on the CPU, not on ",
                    options.device().str());
  return mapped_empty({size}, c10::typeMetaToScalarType(options.dtype()));
}

std::shared_ptr<c10::Allocator> Backend::getMemAllocator() {
  return mapped_allocator();
}

// ---- The end ----------------------------------------------------------------

void Backend::close(const char* reason) {
  if (closed_.exchange(true)) return;
  // Who waits for an operation that will not come is told why.
  if (runner_->busy())
    comm_.abort(
        fmt::format("rank {} ended its process group while an "
                    "operation was under way: {}",
                    getRank(), reason));
  runner_.reset();
  mailbox_.reset();
  comm_ = Communicator();
}

void Backend::abort() {
  if (closed_.load() || pid_ != getpid()) return;
  const std::string text =
      fmt::format("rank {} aborted its process group", getRank());
  failed_.store(true);
  comm_.abort(text);
  if (mailbox_) mailbox_->abort(text);
}

void Backend::shutdown() {
  if (pid_ == getpid()) close("destroy_process_group was called");
}

c10d::ErrorType Backend::getError() {
  return failed_.load() ? c10d::ErrorType::COMM_ERROR
                        : c10d::ErrorType::SUCCESS;
}

}  // namespace rondo::torch
