#include "rondo/rendezvous/store_url.h"

#include <charconv>
#include <optional>

namespace rondo {
namespace {

std::optional<int> parse_int(std::string_view text, int low, int high) {
  int value = 0;
  const char* end = text.data() + text.size();
  auto [rest, ec] = std::from_chars(text.data(), end, value);
  if (ec != std::errc() || rest != end || value < low || value > high)
    return std::nullopt;
  return value;
}

}  // namespace

Result<StoreUrl> StoreUrl::parse(std::string_view text) {
  const auto bad = [&] {
    return error(Code::kInvalidArgument,
                 "\"{}\" is not the place of a store: expected "
                 "tcp://HOST:PORT or file:///FOLDER",
                 text);
  };
  StoreUrl url;
  if (text == "memory") return url;
  if (text.starts_with("file://")) {
    url.kind = Kind::kFile;
    url.folder = text.substr(7);
    if (!url.folder.starts_with('/') || url.folder == "/") return bad();
    return url;
  }
  if (text.starts_with("pmi:")) {
    const auto fd = parse_int(text.substr(4), 0, 1 << 20);
    if (!fd) return bad();
    url.kind = Kind::kPmi;
    url.fd = *fd;
    return url;
  }
  if (!text.starts_with("tcp://")) return bad();
  std::string_view rest = text.substr(6);
  const size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return bad();
  const auto port = parse_int(rest.substr(colon + 1), 1, 65535);
  std::string_view host = rest.substr(0, colon);
  const bool bracketed =
      host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const bool colons = host.find(':') != std::string_view::npos;
  if (!port || host.empty() || bracketed != colons ||
      host.find_first_of("/ []") != std::string_view::npos)
    return bad();
  url.kind = Kind::kTcp;
  url.host = host;
  url.port = *port;
  return url;
}

std::string make_tcp_url(const std::string& host, int port) {
  const bool v6 = host.find(':') != std::string::npos;
  return fmt::format("tcp://{}{}{}:{}", v6 ? "[" : "", host, v6 ? "]" : "",
                     port);
}

}  // namespace rondo
