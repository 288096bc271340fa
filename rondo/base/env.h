// The one place that reads environment variables.
//
// Nothing else in Rondo calls getenv: a part that has settings takes an options
// struct, and the struct's from_env() takes an Env. Tests pass a map.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "rondo/base/status.h"

namespace rondo {

class RONDO_API Env {
 public:
  // The process's environment.
  static Env process();
  // Just these variables.
  explicit Env(std::map<std::string, std::string> variables);

  // The variable's text; nothing when unset or empty.
  std::optional<std::string> get(const std::string& name) const;
  bool has(const std::string& name) const { return get(name).has_value(); }
  std::string get_or(const std::string& name, std::string fallback) const;

  // The variable as a whole number in [low, high]; `fallback` when unset; an
  // error that names the variable, its text and the range otherwise.
  Result<int64_t> get_int(const std::string& name, int64_t fallback,
                          int64_t low, int64_t high) const;
  // The variable as a number of seconds, greater than zero.
  Result<double> get_seconds(const std::string& name, double fallback) const;
  // 1/true/yes/on and 0/false/no/off.
  Result<bool> get_bool(const std::string& name, bool fallback) const;

 private:
  Env() = default;
  std::function<std::optional<std::string>(const std::string&)> lookup_;
};

}  // namespace rondo
