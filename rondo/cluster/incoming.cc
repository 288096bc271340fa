#include "rondo/cluster/incoming.h"

#include <algorithm>
#include <cstring>

namespace rondo {

Incoming::Incoming(Options options) : options_(std::move(options)) { begin(); }

void Incoming::begin() {
  stage_ = Stage::kHeader;
  wants_ = bytes_;
  begun_ = false;
  head_ = {};
  into_.clear();
  tensors_.clear();
}

Status Incoming::got(size_t bytes) {
  begun_ = true;
  wants_ = wants_.subspan(bytes);
  return wants_.empty() ? go_on() : Status();
}

wire::Message Incoming::take() {
  // What was shown and copied goes back now; what is borrowed has the loan.
  loan_.reset();
  wire::Message message{.kind = header_.kind,
                        .id = header_.id,
                        .code = header_.code,
                        .body = std::move(head_.body),
                        .tensors = std::move(tensors_)};
  begin();
  return message;
}

void Incoming::drop() {
  loan_.reset();
  begin();
}

Status Incoming::go_on() {
  if (stage_ == Stage::kHeader) RONDO_RETURN_IF_ERROR(take_header());
  if (!wants_.empty()) return {};
  if (stage_ == Stage::kHead) RONDO_RETURN_IF_ERROR(take_head());
  return next_tensors();
}

Status Incoming::take_header() {
  RONDO_ASSIGN_OR_RETURN(header_, wire::decode_header({bytes_, sizeof bytes_}));
  text_.resize(header_.head_bytes);
  wants_ = text_;
  stage_ = Stage::kHead;
  return {};
}

Status Incoming::take_head() {
  RONDO_ASSIGN_OR_RETURN(
      head_, wire::decode_head(header_, text_, heap_ ? heap_->bytes() : 0));
  if (std::any_of(head_.tensors.begin(), head_.tensors.end(),
                  [](const auto& t) { return t.mapped; }))
    loan_ = {nullptr,
             [release = release_, id = header_.id](void*) { release(id); }};
  if (options_.into && header_.kind == wire::Kind::kAnswer)
    into_ = options_.into(header_.id);
  stage_ = Stage::kTensors;
  return {};
}

Status Incoming::next_tensors() {
  while (tensors_.size() < head_.tensors.size()) {
    const wire::TensorPlace& place = head_.tensors[tensors_.size()];
    if (borrowed(place)) {
      tensors_.push_back(borrow(place));
      continue;
    }
    try {
      tensors_.push_back(memory_for(place));
    } catch (const Error& e) {
      return Status(e.code(), e.what());
    }
    auto* const to = static_cast<char*>(tensors_.back().data());
    if (place.mapped) {
      copy(to, place);
    } else if (place.bytes > 0) {
      wants_ = {to, place.bytes};
      return {};
    }
  }
  return {};
}

Tensor Incoming::memory_for(const wire::TensorPlace& place) const {
  const size_t i = tensors_.size();
  if (i < into_.size() && into_[i].dtype() == place.dtype &&
      into_[i].shape() == place.shape)
    return into_[i];
  return Tensor::empty(place.shape, place.dtype);
}

void Incoming::copy(void* to, const wire::TensorPlace& place) const {
  const char* const from = heap_->data() + place.offset;
  if (options_.copier)
    options_.copier->copy(to, from, place.bytes);
  else
    std::memcpy(to, from, place.bytes);
}

bool Incoming::borrowed(const wire::TensorPlace& place) const {
  return options_.borrows && header_.kind == wire::Kind::kCall &&
         place.mapped && place.offset % size_of(place.dtype) == 0;
}

Tensor Incoming::borrow(const wire::TensorPlace& place) const {
  struct Held {
    std::shared_ptr<Segment> heap;
    std::shared_ptr<void> loan;
  };
  auto held = std::make_shared<Held>(Held{heap_, loan_});
  return Tensor::adopt(
      std::shared_ptr<void>(std::move(held), heap_->data() + place.offset),
      place.dtype, place.shape);
}

}  // namespace rondo
