#include "rondo/transport/interfaces.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <span>

namespace rondo {
namespace {

// The bytes of the IP address, in network order.
std::span<const unsigned char> address_bytes(const sockaddr* address) {
  if (address->sa_family == AF_INET)
    return {reinterpret_cast<const unsigned char*>(
                &reinterpret_cast<const sockaddr_in*>(address)->sin_addr),
            4};
  return {reinterpret_cast<const unsigned char*>(
              &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr),
          16};
}

bool same_network(const SocketAddress& a, const SocketAddress& b, int bits) {
  if (a.family() != b.family()) return false;
  const auto x = address_bytes(a.get()), y = address_bytes(b.get());
  const auto whole = static_cast<size_t>(bits / 8);
  if (std::memcmp(x.data(), y.data(), whole) != 0) return false;
  const int rest = bits % 8;
  return rest == 0 || (x[whole] ^ y[whole]) >> (8 - rest) == 0;
}

// Lower is better.
int preference(const Interface& i) {
  if (i.address.is_link_local()) return 2;
  return i.address.family() == AF_INET ? 0 : 1;
}

std::string describe(const std::vector<Interface>& all) {
  std::string text;
  for (const Interface& i : all)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", i.name,
                        i.address.host_string());
  return text.empty() ? "nothing" : text;
}

// An IP address without a port, if `text` is one.
Result<SocketAddress> parse_host(std::string_view text) {
  const bool v6 = text.find(':') != std::string_view::npos;
  return SocketAddress::parse(v6 ? fmt::format("[{}]:0", text)
                                 : fmt::format("{}:0", text));
}

// getaddrinfo's number parser takes "1" for 0.0.0.1; a filter means a name.
bool looks_like_address(std::string_view text) {
  return text.find(':') != std::string_view::npos ||
         std::count(text.begin(), text.end(), '.') == 3;
}

}  // namespace

Result<std::vector<Interface>> list_interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0)
    return errno_error(Code::kResource, errno, "list network interfaces");
  std::vector<Interface> all;
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_UP) == 0) continue;
    const int family = i->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    int bits = 0;
    if (i->ifa_netmask != nullptr) {
      // The mask's family is not always filled in; the address's is.
      sockaddr_storage mask{};
      const size_t size =
          family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
      std::memcpy(&mask, i->ifa_netmask, size);
      mask.ss_family = static_cast<sa_family_t>(family);
      for (unsigned char b : address_bytes(reinterpret_cast<sockaddr*>(&mask)))
        bits += std::popcount(b);
    }
    all.push_back(
        {i->ifa_name,
         SocketAddress(i->ifa_addr, family == AF_INET ? sizeof(sockaddr_in)
                                                      : sizeof(sockaddr_in6)),
         bits});
  }
  ::freeifaddrs(list);
  return all;
}

bool InterfaceFilter::Term::matches(const Interface& interface) const {
  if (name.empty())
    return same_network(interface.address, network, prefix_length);
  return is_prefix ? interface.name.starts_with(name.substr(0, name.size() - 1))
                   : interface.name == name;
}

Result<InterfaceFilter::Term> InterfaceFilter::parse_term(
    std::string_view text) {
  const auto bad = [&] {
    return error(Code::kInvalidArgument,
                 "\"{}\" selects no network interface: expected a name (eth0, "
                 "eth*), a network (10.0.0.0/8) or an address (10.0.0.7), with "
                 "^ in front to exclude",
                 text);
  };
  Term term;
  const size_t slash = text.find('/');
  const std::string_view host = text.substr(0, slash);
  if (slash != std::string_view::npos || looks_like_address(host)) {
    auto address = looks_like_address(host) ? parse_host(host)
                                            : Result<SocketAddress>(bad());
    if (!address.ok()) return bad();
    term.network = *address;
    const int most = address->family() == AF_INET ? 32 : 128;
    term.prefix_length = most;
    if (slash != std::string_view::npos) {
      const std::string_view bits = text.substr(slash + 1);
      const char* end = bits.data() + bits.size();
      auto [rest, ec] = std::from_chars(bits.data(), end, term.prefix_length);
      if (ec != std::errc() || rest != end || term.prefix_length < 0 ||
          term.prefix_length > most)
        return bad();
    }
    return term;
  }
  const size_t star = text.find('*');
  term.is_prefix = star != std::string_view::npos;
  if (text.empty() || text.size() > IFNAMSIZ ||
      (term.is_prefix && star + 1 != text.size()) ||
      text.find_first_of(" \t^") != std::string_view::npos)
    return bad();
  term.name = text;
  return term;
}

Result<InterfaceFilter> InterfaceFilter::parse(std::string_view text) {
  InterfaceFilter filter;
  filter.text_ = text;
  if (text.empty()) return filter;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    std::string_view word = text.substr(at, comma - at);
    at = comma + 1;
    const bool exclude = word.starts_with('^');
    if (exclude) word.remove_prefix(1);
    RONDO_ASSIGN_OR_RETURN(Term term, parse_term(word));
    (exclude ? filter.exclude_ : filter.include_).push_back(std::move(term));
  }
  return filter;
}

Result<std::vector<Interface>> InterfaceFilter::select(
    const std::vector<Interface>& all) const {
  const auto any = [](const std::vector<Term>& terms, const Interface& i) {
    return std::any_of(terms.begin(), terms.end(),
                       [&](const Term& t) { return t.matches(i); });
  };
  std::vector<Interface> chosen;
  for (const Interface& i : all) {
    const bool wanted =
        include_.empty() ? !i.address.is_loopback() : any(include_, i);
    if (wanted && !any(exclude_, i)) chosen.push_back(i);
  }
  if (chosen.empty() && include_.empty())
    for (const Interface& i : all)
      if (i.address.is_loopback() && !any(exclude_, i)) chosen.push_back(i);
  if (chosen.empty())
    return error(Code::kInvalidArgument,
                 "no network interface matches \"{}\"; this host has {}", text_,
                 describe(all));
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const Interface& a, const Interface& b) {
                     return preference(a) < preference(b);
                   });
  return chosen;
}

}  // namespace rondo
