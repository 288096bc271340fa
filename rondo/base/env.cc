#include "rondo/base/env.h"

#include <charconv>
#include <cstdlib>

namespace rondo {
namespace {

template <class T>
std::optional<T> parse_number(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  auto [rest, ec] = std::from_chars(text.data(), end, value);
  if (ec != std::errc() || rest != end) return std::nullopt;
  return value;
}

}  // namespace

Env Env::process() {
  Env env;
  env.lookup_ = [](const std::string& name) -> std::optional<std::string> {
    const char* text = std::getenv(name.c_str());
    if (text == nullptr) return std::nullopt;
    return text;
  };
  return env;
}

Env::Env(std::map<std::string, std::string> variables) {
  lookup_ = [variables = std::move(variables)](
                const std::string& name) -> std::optional<std::string> {
    auto it = variables.find(name);
    if (it == variables.end()) return std::nullopt;
    return it->second;
  };
}

std::optional<std::string> Env::get(const std::string& name) const {
  auto text = lookup_(name);
  if (text && text->empty()) return std::nullopt;
  return text;
}

std::string Env::get_or(const std::string& name, std::string fallback) const {
  return get(name).value_or(std::move(fallback));
}

Result<int64_t> Env::get_int(const std::string& name, int64_t fallback,
                             int64_t low, int64_t high) const {
  const auto text = get(name);
  if (!text) return fallback;
  const auto value = parse_number<int64_t>(*text);
  if (!value || *value < low || *value > high)
    return error(Code::kInvalidArgument,
                 "{}={}: expected a whole number from {} to {}", name, *text,
                 low, high);
  return *value;
}

Result<double> Env::get_seconds(const std::string& name,
                                double fallback) const {
  const auto text = get(name);
  if (!text) return fallback;
  const auto value = parse_number<double>(*text);
  if (!value || !(*value > 0))
    return error(Code::kInvalidArgument,
                 "{}={}: expected a number of seconds greater than 0", name,
                 *text);
  return *value;
}

Result<bool> Env::get_bool(const std::string& name, bool fallback) const {
  const auto text = get(name);
  if (!text) return fallback;
  for (const char* yes : {"1", "true", "yes", "on"})
    if (*text == yes) return true;
  for (const char* no : {"0", "false", "no", "off"})
    if (*text == no) return false;
  return error(Code::kInvalidArgument, "{}={}: expected 1 or 0", name, *text);
}

}  // namespace rondo
