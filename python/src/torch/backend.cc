#include "backend.h"

#include <openssl/rand.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "checks.h"
#include "durations.h"
#include "errors.h"
#include "profiled.h"
#include "rondo/base/env.h"
#include "rondo/torch/mapped.h"
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
  const double timeout = to_seconds(duration_of(options.timeout));
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

[[noreturn]] void throw_closed(const char* operation) {
  C10_THROW_ERROR(
      DistBackendError,
      fmt::format("rondo: {}: the process group was destroyed", operation));
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
  leak(runner_);
}

// ---- Running ----------------------------------------------------------------

void Backend::check_usable(const char* operation) const {
  TORCH_CHECK_WITH(
      DistBackendError, pid_ == getpid(), "rondo: ", operation,
      ": this process (pid ", getpid(),
      ") was forked after its process group was made by pid ", pid_,
      "; call init_process_group in the child, or start it with spawn");
  if (closed_.load()) throw_closed(operation);
}

// Whoever calls it keeps it while a close on another thread lets it go.
std::shared_ptr<Mailbox> Backend::mailbox(const char* operation) const {
  std::lock_guard lock(mutex_);
  if (mailbox_ == nullptr) throw_closed(operation);
  return mailbox_;
}

void Backend::check_rank(const char* operation, int64_t rank) const {
  TORCH_CHECK_VALUE(rank >= 0 && rank < getSize(), "rondo: ", operation,
                    ": rank ", rank, " is not one of the group's 0..",
                    getSize() - 1);
}

Duration Backend::timeout_or(std::chrono::milliseconds timeout) const {
  return duration_of(timeout > std::chrono::milliseconds::zero()
                         ? timeout
                         : options_->timeout);
}

Status Backend::run_body(const Body& body, const CallOptions& call) {
  bool returned = false;
  Status status = guarded([&] {
    Status ended = body(comm_, call);
    returned = true;
    return ended;
  });
  if (!returned) comm_.abort(status.message());  // or the others would wait
  if (!status.ok()) failed_.store(true);
  return status;
}

// Where nothing is before it. A work, whose making and handing over to Python
// take longer than a short operation, is of no use then.
bool Backend::run_now(const Launch& what, const Body& body,
                      const CallOptions& call) {
  Status status;
  SignalInterrupt interrupt;
  const Body profiled = [&](Communicator& comm, const CallOptions& with) {
    const Profiled shown(what.title, what.inputs);
    return body(comm, with);
  };
  const bool ran = runner_->run_now([&] { status = run_body(profiled, call); });
  interrupt.after();
  throw_if_error(status);
  return ran;
}

Backend::WorkPtr Backend::launch(Launch what, Body body) {
  const char* const operation = what.title + std::strlen("rondo:");
  for (const at::Tensor& output : what.outputs)
    check_writable(operation, output);
  CallOptions call;
  call.timeout = timeout_or(what.timeout);
  const uint64_t sequence = ++sequence_;
  if (!what.async && run_now(what, body, call)) return nullptr;
  auto work = c10::make_intrusive<Work>(
      getRank(), Work::What{what.type, what.title, std::move(what.inputs),
                            std::move(what.outputs), sequence});
  auto job = [this, work, call, body = std::move(body)] {
    // The last: a callback may let the backend go.
    work->end(run_body(body, call));
  };
  if (!runner_->start(std::move(job))) throw_closed(operation);
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

void Backend::close(const std::string& reason) {
  if (closed_.exchange(true)) return;
  // The threads that are waited for may be in callbacks in Python.
  const WithoutPython without_python;
  // Who waits for an operation that will not come is told why.
  if (runner_->close())
    comm_.abort(
        fmt::format("rank {} ended its process group while an "
                    "operation was under way: {}",
                    getRank(), reason));
  runner_->finish();
  Communicator comm;
  std::shared_ptr<Mailbox> mailbox;
  {
    std::lock_guard lock(mutex_);
    mailbox.swap(mailbox_);
    std::swap(comm, comm_);
  }
}

void Backend::abort() {
  if (pid_ != getpid()) return;
  std::shared_ptr<Mailbox> mailbox;
  Communicator comm;
  {
    std::lock_guard lock(mutex_);
    mailbox = mailbox_;
    comm = comm_;
  }
  if (!comm.valid()) return;
  failed_.store(true);
  const std::string text =
      fmt::format("rank {} aborted its process group", getRank());
  comm.abort(text);
  if (mailbox) mailbox->abort(text);
}

void Backend::shutdown() { end("destroy_process_group was called"); }

void Backend::end(const std::string& reason) {
  if (pid_ == getpid()) close(reason);
}

c10d::ErrorType Backend::getError() {
  return failed_.load() ? c10d::ErrorType::COMM_ERROR
                        : c10d::ErrorType::SUCCESS;
}

}  // namespace rondo::torch
