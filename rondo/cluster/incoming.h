// Incoming: the frames that come on a connection, put together from pieces.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rondo/cluster/copier.h"
#include "rondo/cluster/wire.h"
#include "rondo/transport/shm/segment.h"

namespace rondo {

// Says where the next bytes of a frame go, and is told how many have come. What
// has come stays while nobody reads, so that another thread may go on where one
// stopped, also within a frame. Not thread-safe.
class Incoming {
 public:
  struct Options {
    // Tensors of calls that the peer shows are not copied: they stay in its
    // memory, and its sender holds them, until the last of the call's is gone.
    bool borrows = false;
    // Where the tensors of an answer are to go; new memory for those that are
    // not there, or of another type or shape.
    std::function<std::vector<Tensor>(uint64_t id)> into = {};
    // Copies what the peer shows; this thread alone where there is none.
    std::shared_ptr<Copier> copier = nullptr;
  };
  // The peer may have back the tensors that frame `id` showed; on any thread.
  using Release = std::function<void(uint64_t id)>;
  explicit Incoming(Options options);

  void on_release(Release release) { release_ = std::move(release); }

  // The peer's heap, for frames that begin from now on.
  void map(std::shared_ptr<Segment> heap) { heap_ = std::move(heap); }
  bool mapped() const { return heap_ != nullptr; }

  // Where the next bytes go; none once the frame is whole.
  std::span<char> wants() const { return wants_; }
  // The first `bytes` of them are there. An error when they make no sense.
  Status got(size_t bytes);
  // Whether some of a frame has come.
  bool begun() const { return begun_; }
  bool whole() const { return wants_.empty(); }
  // The frame, once it is whole; then the next one begins.
  wire::Message take();
  // Forgets what has come of the frame; there will be no other.
  void drop();

 private:
  enum class Stage { kHeader, kHead, kTensors };

  void begin();
  // What was wanted has come.
  Status go_on();
  Status take_header();
  Status take_head();
  // Tensors whose elements are there already, or that have none, and memory for
  // the next one.
  Status next_tensors();
  Tensor memory_for(const wire::TensorPlace& place) const;
  void copy(void* to, const wire::TensorPlace& place) const;
  bool borrowed(const wire::TensorPlace& place) const;
  Tensor borrow(const wire::TensorPlace& place) const;

  const Options options_;
  Release release_;
  std::shared_ptr<Segment> heap_;
  std::span<char> wants_;
  bool begun_ = false;

  // Of the frame.
  Stage stage_ = Stage::kHeader;
  char bytes_[wire::kHeaderBytes];
  wire::Header header_;
  std::string text_;
  wire::Head head_;
  std::vector<Tensor> into_;
  std::shared_ptr<void> loan_;  // gives back what the frame shows, once it goes
  std::vector<Tensor> tensors_;
};

}  // namespace rondo
