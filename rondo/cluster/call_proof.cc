#include "rondo/cluster/call_proof.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "rondo/transport/handshake.h"

namespace rondo {
namespace {

std::string hmac(const std::string& token, std::string_view message) {
  unsigned char mac[32];
  unsigned int length = sizeof mac;
  // c_str() is never null, so an empty token is an empty key.
  HMAC(EVP_sha256(), token.c_str(), static_cast<int>(token.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(),
       mac, &length);
  std::string text;
  for (const unsigned char byte : mac) text += fmt::format("{:02x}", byte);
  return text;
}

std::string proof_of(const std::string& token, std::string_view version,
                     std::string_view method, std::string_view nonce,
                     uint64_t incarnation) {
  // Lengths keep the parts from running into each other.
  return hmac(token, fmt::format("call|{}:{}|{}:{}|{}:{}|{:x}", version.size(),
                                 version, method.size(), method, nonce.size(),
                                 nonce, incarnation));
}

}  // namespace

CallProof CallProof::make(const std::string& token, std::string_view method,
                          uint64_t incarnation) {
  CallProof made{std::string(kClusterVersion), make_token(), ""};
  made.proof = proof_of(token, made.version, method, made.nonce, incarnation);
  return made;
}

Status CallProof::check(const std::string& token, std::string_view method,
                        uint64_t incarnation, std::string_view caller) const {
  if (version.empty())
    return error(Code::kPermission,
                 "this port is Rondo's, and the call of {} is not", caller);
  if (version != kClusterVersion)
    return error(Code::kMismatch,
                 "{} speaks version {} of Rondo's cluster protocol and this "
                 "task version {}: run the same release of Rondo everywhere",
                 caller, version.substr(0, 20), kClusterVersion);
  if (nonce.size() > 64 ||
      !same_proof(proof, proof_of(token, version, method, nonce, incarnation)))
    return error(Code::kPermission,
                 "this task refused the token of {}: RONDO_TOKEN differs "
                 "between tasks or clients, or the task was started anew",
                 caller);
  return {};
}

std::string hello_proof(const std::string& token, std::string_view nonce,
                        uint64_t incarnation, std::string_view task) {
  return hmac(token, fmt::format("hello|{}:{}|{:x}|{}", nonce.size(), nonce,
                                 incarnation, task));
}

bool same_proof(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace rondo
