#include "rondo/train/server_share.h"

#include <algorithm>
#include <charconv>

namespace rondo {

double server_share(int ranks, int servers) {
  if (ranks < 2 || servers < 1) return 0;
  if (servers >= ranks) return 1;
  const double n = ranks;
  const double k = servers;
  return 2 * k * (n - 1) / (n * n + k * n - 2 * k);
}

ServerShare best_server_share(int ranks, int servers) {
  const double share = server_share(ranks, servers);
  const double saved = sent_share(ranks, 0) - sent_share(ranks, share);
  constexpr double kRounding = 1e-9;
  if (saved < kRounding) return {};
  return {share, static_cast<double>(kServedPart) * ranks / saved};
}

Result<double> server_share_of(const Env& env) {
  const auto text = env.get("RONDO_SERVER_SHARE");
  if (!text || *text == "auto") return -1.0;
  double share = -1;
  const char* end = text->data() + text->size();
  const auto [stop, fault] = std::from_chars(text->data(), end, share);
  if (fault != std::errc() || stop != end || !(share >= 0 && share <= 1))
    return error(Code::kInvalidArgument,
                 "RONDO_SERVER_SHARE={}: expected a share from 0 to 1, or auto",
                 *text);
  return share;
}

double sent_share(int ranks, double server_share) {
  return server_share + (1 - server_share) * 2 * (ranks - 1) / ranks;
}

int64_t served_elements(int64_t count, DType dtype, const ServerShare& share) {
  constexpr int64_t kLine = 64;
  const auto size = static_cast<int64_t>(size_of(dtype));
  const int64_t line = kLine / size;
  const auto all = static_cast<double>(count);
  const double served = share.of(all * static_cast<double>(size));
  const auto left = static_cast<int64_t>((1 - served) * all);
  // Up to a whole line.
  const int64_t kept = (std::max<int64_t>(left, 1) + line - 1) / line * line;
  return std::max<int64_t>(count - kept, 0);
}

}  // namespace rondo
