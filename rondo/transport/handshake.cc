#include "rondo/transport/handshake.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

namespace rondo {
namespace {

constexpr uint16_t kVersion = 1;
constexpr char kMagic[4] = {'R', 'N', 'D', 'O'};

using Nonce = std::array<unsigned char, 16>;
using Mac = std::array<unsigned char, 32>;

// Offsets within the three messages.
constexpr char kConfirmation = '+';
constexpr size_t kChallengeSize = 24, kChallengeNonce = 8;
constexpr size_t kHelloSize = 120, kHelloNonce = 8, kHelloSubject = 24,
                 kHelloMac = 88;
constexpr size_t kAnswerSize = 40, kAnswerMac = 8;
// Magic and version, the same in Challenge and Hello of every version.
constexpr size_t kPrefixSize = 8;

template <class T>
void put(char* at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    at[i] = static_cast<char>(value >> (8 * i) & 0xff);
}

template <class T>
T take_int(const char* at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(
        value | static_cast<T>(static_cast<T>(static_cast<unsigned char>(at[i]))
                               << (8 * i)));
  return value;
}

void put_prefix(char* at, uint16_t second) {
  std::memcpy(at, kMagic, sizeof kMagic);
  put<uint16_t>(at + 4, kVersion);
  put<uint16_t>(at + 6, second);
}

bool has_magic(const char* at) {
  return std::memcmp(at, kMagic, sizeof kMagic) == 0;
}

void fill_random(void* out, size_t size) {
  if (RAND_bytes(static_cast<unsigned char*>(out), static_cast<int>(size)) != 1)
    throw Error(Code::kResource, "the system has no random bytes to give");
}

Mac hmac(const std::string& token, std::string_view message) {
  Mac mac;
  unsigned int length = mac.size();
  // c_str() is never null, so an empty token is an empty key.
  HMAC(EVP_sha256(), token.c_str(), static_cast<int>(token.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(),
       mac.data(), &length);
  return mac;
}

std::string_view text_of(const Nonce& nonce) {
  return {reinterpret_cast<const char*>(nonce.data()), nonce.size()};
}

std::string_view text_of(const Subject& subject) {
  return {reinterpret_cast<const char*>(subject.data()), subject.size()};
}

Mac client_mac(const std::string& token, const Nonce& server,
               const Nonce& client, uint16_t purpose, const Subject& subject) {
  char number[2];
  put(number, purpose);
  std::string message("client");
  message.append(text_of(server)).append(text_of(client));
  message.append(number, sizeof number).append(text_of(subject));
  return hmac(token, message);
}

Mac server_mac(const std::string& token, const Nonce& client,
               const Nonce& server, uint32_t verdict, const Subject& subject) {
  char number[4];
  put(number, verdict);
  std::string message("server");
  message.append(text_of(client)).append(text_of(server));
  message.append(number, sizeof number).append(text_of(subject));
  return hmac(token, message);
}

bool same(const Mac& mac, const char* bytes) {
  return CRYPTO_memcmp(mac.data(), bytes, mac.size()) == 0;
}

std::string name_of_peer(int fd) {
  auto peer = peer_address(fd);
  return peer.ok() ? peer->to_string() : "a peer that has gone";
}

Status version_error(const std::string& who, uint16_t theirs) {
  return error(Code::kMismatch,
               "{} speaks version {} of Rondo's handshake and this process "
               "version {}: run the same release of Rondo on every rank",
               who, theirs, kVersion);
}

// What a client says about the server's answer.
Status explain(const std::string& who, uint32_t verdict, bool proven) {
  switch (static_cast<Verdict>(verdict)) {
    case Verdict::kWrongToken:
      return error(Code::kPermission,
                   "{} refused this process's token: RONDO_TOKEN differs "
                   "between ranks, or this is the address of another job",
                   who);
    case Verdict::kWrongVersion:
      return error(Code::kMismatch,
                   "{} speaks another version of Rondo's handshake than {}: "
                   "run the same release of Rondo on every rank",
                   who, kVersion);
    case Verdict::kLoopbackOnly:
      return error(Code::kPermission,
                   "{} accepts only processes of its own host because its job "
                   "has no token: set RONDO_TOKEN to the same secret text on "
                   "every rank",
                   who);
    default: break;
  }
  // Anything else counts only from a server that knows the token.
  if (!proven)
    return error(Code::kPermission,
                 "{} did not prove that it knows the job's token: RONDO_TOKEN "
                 "differs between ranks, or this is not a process of the job",
                 who);
  if (verdict == static_cast<uint32_t>(Verdict::kWelcome)) return {};
  // Not final: the one who is looked for may be at another address.
  return error(Code::kUnavailable,
               "{} belongs to the job but is not whom this process looks for "
               "(verdict {}): an address from an older run is in use",
               who, verdict);
}

}  // namespace

Status handshake_as_client(int fd, const std::string& token, Purpose purpose,
                           const Subject& subject, Deadline deadline) {
  const std::string who = name_of_peer(fd);
  char challenge[kChallengeSize];
  // The prefix first: it is the same in every version, the rest need not be.
  RONDO_RETURN_IF_ERROR(recv_all(fd, {challenge, kPrefixSize}, deadline)
                            .with_context("handshake"));
  if (!has_magic(challenge))
    return error(Code::kUnavailable,
                 "{} answers, but not as Rondo does: another program has this "
                 "port",
                 who);
  const auto version = take_int<uint16_t>(challenge + 4);
  if (version != kVersion) return version_error(who, version);
  RONDO_RETURN_IF_ERROR(
      recv_all(fd, std::span<char>(challenge).subspan(kPrefixSize), deadline)
          .with_context("handshake"));
  Nonce server, client;
  std::memcpy(server.data(), challenge + kChallengeNonce, server.size());
  fill_random(client.data(), client.size());

  char hello[kHelloSize];
  const auto purpose_number = static_cast<uint16_t>(purpose);
  put_prefix(hello, purpose_number);
  std::memcpy(hello + kHelloNonce, client.data(), client.size());
  std::memcpy(hello + kHelloSubject, subject.data(), subject.size());
  const Mac mac = client_mac(token, server, client, purpose_number, subject);
  std::memcpy(hello + kHelloMac, mac.data(), mac.size());
  RONDO_RETURN_IF_ERROR(
      send_all(fd, hello, deadline).with_context("handshake"));

  char answer[kAnswerSize];
  RONDO_RETURN_IF_ERROR(
      recv_all(fd, answer, deadline).with_context("handshake"));
  const auto verdict = take_int<uint32_t>(answer);
  const bool proven = same(server_mac(token, client, server, verdict, subject),
                           answer + kAnswerMac);
  RONDO_RETURN_IF_ERROR(explain(who, verdict, proven));
  return send_all(fd, {&kConfirmation, 1}, deadline).with_context("handshake");
}

bool may_join(const std::string& token, const SocketAddress& peer) {
  return !token.empty() || peer.is_loopback();
}

struct ServerHandshake::Impl {
  enum class Step {
    kSendChallenge,
    kReadHello,
    kSendAnswer,
    kReadConfirmation,
    kDone,
    kFailed
  };

  Impl(Fd socket, std::string job_token, Duration time_allowed, Accept question)
      : fd(std::move(socket)),
        token(std::move(job_token)),
        deadline(time_allowed),
        accept(std::move(question)),
        who(name_of_peer(fd.get())) {
    fill_random(server.data(), server.size());
    put_prefix(buffer.data(), 0);
    std::memcpy(buffer.data() + kChallengeNonce, server.data(), server.size());
    set_stream_options(fd.get());
  }

  void fail(Status why) {
    failure = std::move(why);
    step = Step::kFailed;
    // Unread bytes would turn the close into a reset, and a reset can overtake
    // the answer.
    char rest[512];
    while (::recv(fd.get(), rest, sizeof rest, MSG_DONTWAIT) ==
           static_cast<ssize_t>(sizeof rest)) {
      if (++drained > 16) break;
    }
    fd.reset();
  }

  // Sends or receives up to `size` bytes of the buffer; true when they are all
  // through. A hard failure changes the step.
  bool move_bytes(size_t size, bool sending) {
    while (done < size) {
      const ssize_t n = sending
                            ? ::send(fd.get(), buffer.data() + done,
                                     size - done, MSG_NOSIGNAL | MSG_DONTWAIT)
                            : ::recv(fd.get(), buffer.data() + done,
                                     size - done, MSG_DONTWAIT);
      if (n > 0) {
        done += static_cast<size_t>(n);
      } else if (n < 0 && errno == EINTR) {
        continue;
      } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        if (deadline.passed())
          fail(error(Code::kTimeout,
                     "{} connected but did not finish the handshake in time",
                     who));
        return false;
      } else {
        fail(error(Code::kPeerLost,
                   "{} closed the connection during the handshake", who));
        return false;
      }
    }
    return true;
  }

  void decide(Verdict decision, Status why) {
    verdict = decision;
    reason = std::move(why);
    const auto number = static_cast<uint32_t>(verdict);
    put<uint32_t>(buffer.data(), number);
    put<uint32_t>(buffer.data() + 4, 0);
    // A client that has not proven the token gets nothing to try guesses on.
    const bool proven =
        verdict == Verdict::kWelcome || verdict == Verdict::kNotHere;
    const Mac mac =
        proven ? server_mac(token, client, server, number, subject) : Mac{};
    std::memcpy(buffer.data() + kAnswerMac, mac.data(), mac.size());
    done = 0;
    step = Step::kSendAnswer;
  }

  void read_hello() {
    if (done < kPrefixSize) {
      if (!move_bytes(kPrefixSize, false)) return;
      if (!has_magic(buffer.data()))
        return fail(error(Code::kInvalidArgument,
                          "{} sent something that is not Rondo's handshake",
                          who));
      const auto version = take_int<uint16_t>(buffer.data() + 4);
      if (version != kVersion)
        return decide(Verdict::kWrongVersion, version_error(who, version));
    }
    if (!move_bytes(kHelloSize, false)) return;
    purpose = take_int<uint16_t>(buffer.data() + 6);
    std::memcpy(client.data(), buffer.data() + kHelloNonce, client.size());
    std::memcpy(subject.data(), buffer.data() + kHelloSubject, subject.size());
    // The order matters: nobody learns what is here before proving the token.
    auto peer = peer_address(fd.get());
    if (!may_join(token, peer.ok() ? *peer : SocketAddress()))
      return decide(Verdict::kLoopbackOnly,
                    error(Code::kPermission,
                          "{} is another host and this job has no token: set "
                          "RONDO_TOKEN to the same secret text on every rank",
                          who));
    if (!same(client_mac(token, server, client, purpose, subject),
              buffer.data() + kHelloMac))
      return decide(Verdict::kWrongToken,
                    error(Code::kPermission, "{} has the wrong token", who));
    const Verdict verdict_here = accept(static_cast<Purpose>(purpose), subject);
    decide(verdict_here,
           verdict_here == Verdict::kWelcome
               ? Status()
               : error(Code::kPermission,
                       "{} has the token but looks for somebody else", who));
  }

  State advance() {
    if (step == Step::kSendChallenge && move_bytes(kChallengeSize, true)) {
      done = 0;
      step = Step::kReadHello;
    }
    if (step == Step::kReadHello) read_hello();
    if (step == Step::kSendAnswer && move_bytes(kAnswerSize, true)) {
      done = 0;
      if (reason.ok())
        step = Step::kReadConfirmation;
      else
        fail(reason);
    }
    if (step == Step::kReadConfirmation && move_bytes(1, false)) {
      if (buffer[0] == kConfirmation)
        step = Step::kDone;
      else
        fail(error(Code::kInvalidArgument, "{} did not confirm the handshake",
                   who));
    }
    if (step == Step::kDone) return State::kDone;
    return step == Step::kFailed ? State::kFailed : State::kPending;
  }

  Fd fd;
  const std::string token;
  const Deadline deadline;
  const Accept accept;
  const std::string who;

  Step step = Step::kSendChallenge;
  std::array<char, kHelloSize> buffer{};  // the message under way
  size_t done = 0;                        // bytes of it that are through
  Nonce server{}, client{};
  uint16_t purpose = 0;
  Subject subject{};
  Verdict verdict = Verdict::kWelcome;
  Status reason;   // why the verdict is not a welcome
  Status failure;  // set with kFailed
  int drained = 0;
};

ServerHandshake::ServerHandshake(Fd fd, const std::string& token,
                                 Duration time_allowed, Accept accept)
    : impl_(std::make_unique<Impl>(std::move(fd), token, time_allowed,
                                   std::move(accept))) {}
ServerHandshake::~ServerHandshake() = default;
ServerHandshake::ServerHandshake(ServerHandshake&&) noexcept = default;
ServerHandshake& ServerHandshake::operator=(ServerHandshake&&) noexcept =
    default;

ServerHandshake::State ServerHandshake::advance() { return impl_->advance(); }

int ServerHandshake::fd() const { return impl_->fd.get(); }

short ServerHandshake::events() const {
  const bool reads = impl_->step == Impl::Step::kReadHello ||
                     impl_->step == Impl::Step::kReadConfirmation;
  return reads ? POLLIN : POLLOUT;
}

const Deadline& ServerHandshake::deadline() const { return impl_->deadline; }

Fd ServerHandshake::take() { return std::move(impl_->fd); }

Purpose ServerHandshake::purpose() const {
  return static_cast<Purpose>(impl_->purpose);
}

const Subject& ServerHandshake::subject() const { return impl_->subject; }

Status ServerHandshake::failure() const { return impl_->failure; }

std::string make_token() {
  std::array<unsigned char, 16> bytes;
  fill_random(bytes.data(), bytes.size());
  std::string token;
  for (unsigned char b : bytes) token += fmt::format("{:02x}", b);
  return token;
}

uint64_t random_u64() {
  uint64_t number;
  fill_random(&number, sizeof number);
  return number;
}

}  // namespace rondo
