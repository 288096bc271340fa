#include "rondo/runtime/buffer_pool.h"

#include <bit>
#include <limits>
#include <mutex>
#include <vector>

#include "rondo/runtime/arena.h"

namespace rondo {
namespace {

// From here on blocks are cut from the arena.
constexpr size_t kLarge = size_t{64} << 10;
constexpr size_t kSmallest = 64;
// Eight sizes to each doubling: at most an eighth of a block is not used.
constexpr int kSteps = 8;
constexpr int kClasses = 11 * kSteps;  // up to kLarge

// The size class of a block of at least `bytes`, and that class's size.
int class_of(size_t bytes) {
  if (bytes <= kSmallest) return 0;
  const size_t units = (bytes + kSmallest - 1) / kSmallest;
  const int doubling = std::bit_width(units) - 1;
  const size_t base = size_t{1} << doubling;
  const size_t step = std::max<size_t>(1, base / kSteps);
  const size_t steps = (units - base + step - 1) / step;
  return doubling * kSteps + static_cast<int>(steps * step * kSteps / base);
}

size_t size_of_class(int index) {
  const size_t base = size_t{1} << (index / kSteps);
  const size_t units =
      base + (static_cast<size_t>(index % kSteps) * base + kSteps - 1) / kSteps;
  return units * kSmallest;
}

}  // namespace

// Keeps blocks as tensors of bytes, and the memory of shared_ptr's counters, so
// that a step that has run before takes nothing from the heap.
struct BufferPool::Blocks {
  std::mutex mutex;
  // All guarded by mutex.
  std::array<std::vector<Tensor>, kClasses> free;
  Arena arena;
  std::vector<void*> counters;
  size_t counter_size = 0;
  size_t small_bytes = 0;

  ~Blocks() {
    for (void* counter : counters) ::operator delete(counter);
  }
};

namespace {

template <class T, class Owner>
struct CounterAllocator {
  using value_type = T;
  std::shared_ptr<Owner> owner;

  explicit CounterAllocator(std::shared_ptr<Owner> o) : owner(std::move(o)) {}
  template <class U>
  CounterAllocator(const CounterAllocator<U, Owner>& other)
      : owner(other.owner) {}
  T* allocate(size_t n) {
    const size_t size = n * sizeof(T);
    {
      const std::lock_guard lock(owner->mutex);
      if (owner->counter_size == size && !owner->counters.empty()) {
        void* counter = owner->counters.back();
        owner->counters.pop_back();
        return static_cast<T*>(counter);
      }
      if (owner->counter_size == 0) owner->counter_size = size;
    }
    return static_cast<T*>(::operator new(size));
  }
  void deallocate(T* p, size_t n) {
    {
      const std::lock_guard lock(owner->mutex);
      if (owner->counter_size == n * sizeof(T)) {
        owner->counters.push_back(p);
        return;
      }
    }
    ::operator delete(p);
  }
  template <class U>
  bool operator==(const CounterAllocator<U, Owner>& other) const {
    return owner == other.owner;
  }
};

}  // namespace

BufferPool::BufferPool() : blocks_(std::make_shared<Blocks>()) {}
BufferPool::~BufferPool() = default;

// How a tensor's memory comes back.
struct BufferPool::GiveBack {
  std::shared_ptr<Blocks> blocks;
  int index;     // the size class of a small block
  Tensor small;  // that block; of a large one nothing

  void operator()(void* data) {
    const std::lock_guard lock(blocks->mutex);
    if (index < 0)
      blocks->arena.free(data);
    else
      blocks->free[static_cast<size_t>(index)].push_back(std::move(small));
  }
};

Tensor BufferPool::allocate(DType dtype, const Shape& shape) {
  constexpr size_t kMost = std::numeric_limits<ptrdiff_t>::max() / 2;
  const auto count = static_cast<size_t>(shape.count());
  const size_t size = rondo::size_of(dtype);
  // So much there is nowhere, and the sums below stay within 64 bits.
  if (count > kMost / size) return Tensor::empty(shape, dtype);
  const size_t bytes = count * size;
  GiveBack give_back{blocks_, bytes < kLarge ? class_of(bytes) : -1, {}};
  void* data = nullptr;
  if (give_back.index < 0) {
    try {
      const std::lock_guard lock(blocks_->mutex);
      data = blocks_->arena.allocate(bytes);
    } catch (const Error&) {
      // A place of its own, or an error that says for what there is none.
      return Tensor::empty(shape, dtype);
    }
  } else {
    give_back.small = small_block(give_back.index);
    data = give_back.small.data();
  }
  std::shared_ptr<void> counted(data, std::move(give_back),
                                CounterAllocator<char, Blocks>(blocks_));
  return Tensor::adopt(std::move(counted), dtype, shape);
}

Tensor BufferPool::small_block(int index) {
  {
    const std::lock_guard lock(blocks_->mutex);
    auto& free = blocks_->free[static_cast<size_t>(index)];
    if (!free.empty()) {
      Tensor block = std::move(free.back());
      free.pop_back();
      return block;
    }
    blocks_->small_bytes += size_of_class(index);
  }
  return Tensor::empty({static_cast<int64_t>(size_of_class(index))},
                       DType::kU8);
}

size_t BufferPool::bytes() const {
  const std::lock_guard lock(blocks_->mutex);
  return blocks_->small_bytes + blocks_->arena.touched();
}

size_t BufferPool::most_in_use() const {
  const std::lock_guard lock(blocks_->mutex);
  return blocks_->arena.most_in_use();
}

}  // namespace rondo
