// CallProof: the metadata by which the control plane's calls show that they
// come from somebody who knows the job's token. The token never travels.
//
//   rondo-version  the version of the protocol
//   rondo-nonce    16 random bytes, in hexadecimal digits
//   rondo-proof    HMAC-SHA256(token, "call" | version | method | nonce |
//                  incarnation of the called task, 0 for Hello), the same way
//
// A recorded call is good for nothing once the task has been started anew.
// Whoever can change bytes on the way is kept out by TLS, not by this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/base/status.h"

namespace rondo {

inline constexpr std::string_view kClusterVersion = "2";

struct CallProof {
  std::string version;
  std::string nonce;
  std::string proof;

  static CallProof make(const std::string& token, std::string_view method,
                        uint64_t incarnation);
  // On the called task; `caller` is its address, for the message.
  Status check(const std::string& token, std::string_view method,
               uint64_t incarnation, std::string_view caller) const;
};

// What a task answers to Hello with: that it knows the token too.
std::string hello_proof(const std::string& token, std::string_view nonce,
                        uint64_t incarnation, std::string_view task);
// In the same time wherever they differ.
bool same_proof(std::string_view a, std::string_view b);

}  // namespace rondo
