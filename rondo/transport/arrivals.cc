#include "rondo/transport/arrivals.h"

#include <utility>

namespace rondo {

void Arrivals::add_stream(uint64_t group, int peer, int index, Fd fd) {
  if (!closed_.contains(group)) streams_[{group, peer, index}] = std::move(fd);
}

std::optional<Fd> Arrivals::take_stream(uint64_t group, int peer, int index) {
  auto node = streams_.extract({group, peer, index});
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

void Arrivals::add_mail(uint64_t group, uint64_t round, int peer,
                        std::string text) {
  if (!closed_.contains(group)) mail_[{group, round, peer}] = std::move(text);
}

std::string Arrivals::take_mail(uint64_t group, uint64_t round, int peer) {
  return std::move(mail_.extract({group, round, peer}).mapped());
}

void Arrivals::open(uint64_t group) {
  if (closed_.erase(group) != 0) std::erase(closing_order_, group);
}

void Arrivals::close(uint64_t group) {
  auto of_group = [group](const auto& entry) {
    return std::get<0>(entry.first) == group;
  };
  std::erase_if(streams_, of_group);
  std::erase_if(mail_, of_group);
  if (!closed_.insert(group).second) return;
  closing_order_.push_back(group);
  if (closing_order_.size() <= kRemembered) return;
  closed_.erase(closing_order_.front());
  closing_order_.pop_front();
}

}  // namespace rondo
