#include "rondo/kernels/tensor_queue.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>

namespace rondo {
namespace {

// Component i of all elements as one tensor; elements of one component have one
// shape.
Status stack(const std::vector<TensorQueue::Element>& elements,
             const TensorQueueOptions& options, KernelContext& context) {
  for (size_t i = 0; i < options.types.size(); ++i) {
    const auto row = options.shapes[i].extents();
    std::vector<int64_t> extents{static_cast<int64_t>(elements.size())};
    extents.insert(extents.end(), row.begin(), row.end());
    Tensor& to =
        context.allocate(static_cast<int>(i), options.types[i], Shape(extents));
    auto* at = static_cast<std::byte*>(to.data());
    for (const TensorQueue::Element& element : elements) {
      if (element[i].bytes() > 0)
        std::memcpy(at, element[i].data(), element[i].bytes());
      at += element[i].bytes();
    }
  }
  return {};
}

}  // namespace

struct TensorQueue::Putting final : WaitingKernel {
  Putting(KernelContext& context, AsyncKernel::Done done,
          std::vector<Element> elements)
      : WaitingKernel(context, std::move(done)), left(std::move(elements)) {}
  std::vector<Element> left;
  size_t next = 0;  // those before it are in the queue
};

struct TensorQueue::Taking final : WaitingKernel {
  Taking(KernelContext& context, AsyncKernel::Done done, Take how, int64_t n)
      : WaitingKernel(context, std::move(done)), take(how), count(n) {}
  Status deliver(KernelContext& context) override {
    if (take != Take::kOne) return stack(taken, options, context);
    for (size_t i = 0; i < taken[0].size(); ++i)
      context.set_output(static_cast<int>(i), std::move(taken[0][i]));
    return {};
  }
  const Take take;
  const int64_t count;
  std::vector<Element> taken;
  TensorQueueOptions options;  // for those that stack
};

Status TensorQueue::configure(const std::string& name,
                              const TensorQueueOptions& options) {
  const std::lock_guard lock(mutex_);
  if (configured_)
    return options_ == options
               ? Status()
               : error(Code::kInvalidArgument,
                       "the queue \"{}\" is there already with another "
                       "capacity, order, types or shapes",
                       name);
  configured_ = true;
  name_ = name;
  options_ = options;
  if (options.seed == 0 && options.seed2 == 0) {
    std::random_device device;
    stream_.key = uint64_t{device()} << 32 | device();
  } else {
    stream_.key = random_key(static_cast<uint64_t>(options.seed),
                             static_cast<uint64_t>(options.seed2));
  }
  return {};
}

void TensorQueue::enqueue(KernelContext& context, std::vector<Element> elements,
                          AsyncKernel::Done done) {
  wait(
      std::make_shared<Putting>(context, std::move(done), std::move(elements)));
}

void TensorQueue::dequeue(KernelContext& context, Take take, int64_t count,
                          AsyncKernel::Done done) {
  auto waiter = std::make_shared<Taking>(context, std::move(done), take, count);
  if (take != Take::kOne) {
    const std::lock_guard lock(mutex_);
    waiter->options = options_;
  }
  wait(waiter);
}

void TensorQueue::close(bool cancel_pending_enqueues) {
  update([&](Ended& ended) {
    closed_ = true;
    if (!cancel_pending_enqueues) return;
    for (const auto& putting : putting_) end(putting, closed_error(), ended);
    putting_.clear();
  });
}

bool TensorQueue::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

int64_t TensorQueue::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(elements_.size());
}

// ---- With the mutex held ----------------------------------------------------

Status TensorQueue::closed_error() const {
  return error(Code::kCancelled,
               "the queue \"{}\" is closed: nothing can be put in any more",
               name_);
}

Status TensorQueue::too_few_error(int64_t wanted) const {
  return error(Code::kOutOfRange,
               "the queue \"{}\" is closed and has insufficient elements "
               "(requested {}, current size {})",
               name_, wanted, elements_.size());
}

bool TensorQueue::has_room() const {
  return options_.capacity < 0 ||
         static_cast<int64_t>(elements_.size()) < options_.capacity;
}

bool TensorQueue::may_take() const {
  const int64_t stay = drained() ? 0 : options_.min_after_dequeue;
  return static_cast<int64_t>(elements_.size()) > stay;
}

TensorQueue::Element TensorQueue::take_next() {
  if (options_.shuffle) {
    const uint64_t at = random_below(stream_, draws_++, elements_.size());
    std::swap(elements_.front(), elements_[at]);
  }
  Element element = std::move(elements_.front());
  elements_.pop_front();
  return element;
}

void TensorQueue::list(const std::shared_ptr<WaitingKernel>& waiter,
                       Ended& ended) {
  if (auto taking = std::dynamic_pointer_cast<Taking>(waiter))
    taking_.push_back(std::move(taking));
  else if (closed_)
    end(waiter, closed_error(), ended);
  else
    putting_.push_back(std::static_pointer_cast<Putting>(waiter));
}

void TensorQueue::unlist(const std::shared_ptr<WaitingKernel>& waiter) {
  if (auto taking = std::dynamic_pointer_cast<Taking>(waiter)) {
    give_back(*taking);
    std::erase(taking_, taking);
  } else {
    std::erase(putting_, std::static_pointer_cast<Putting>(waiter));
  }
}

// To where they were, though others may have come in meanwhile.
void TensorQueue::give_back(Taking& taking) {
  elements_.insert(elements_.begin(),
                   std::make_move_iterator(taking.taken.begin()),
                   std::make_move_iterator(taking.taken.end()));
  taking.taken.clear();
}

bool TensorQueue::put_in(Ended& ended) {
  bool moved = false;
  while (!putting_.empty()) {
    Putting& first = *putting_.front();
    while (first.next < first.left.size() && has_room()) {
      elements_.push_back(std::move(first.left[first.next++]));
      moved = true;
    }
    if (first.next < first.left.size()) break;
    end(putting_.front(), {}, ended);
    putting_.pop_front();
    moved = true;
  }
  return moved;
}

bool TensorQueue::take_out(Ended& ended) {
  bool moved = false;
  while (!taking_.empty()) {
    Taking& first = *taking_.front();
    auto wanted = [&] {
      return first.count - static_cast<int64_t>(first.taken.size());
    };
    while (wanted() > 0 && may_take()) {
      first.taken.push_back(take_next());
      moved = true;
    }
    Status status;
    if (wanted() > 0) {
      if (!drained()) break;
      if (first.take != Take::kUpTo || first.taken.empty()) {
        give_back(first);
        status = too_few_error(first.count);
      }
    }
    end(taking_.front(), std::move(status), ended);
    taking_.pop_front();
    moved = true;
  }
  return moved;
}

void TensorQueue::advance(Ended& ended) {
  // Each may make way for the other.
  while (put_in(ended) || take_out(ended)) {
  }
}

}  // namespace rondo
