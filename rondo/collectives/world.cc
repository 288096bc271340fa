// How communicators come about: from the job's environment, from a store, and
// from another communicator.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "rondo/base/interrupt.h"
#include "rondo/base/log.h"
#include "rondo/collectives/communicator_impl.h"
#include "rondo/rendezvous/job_env.h"
#include "rondo/transport/endpoint.h"

namespace rondo {
namespace {

constexpr int kMaxTcpStreams = 16;

// Mixes two numbers into one that differs from both (splitmix64's finaliser).
uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a + 0x9e3779b97f4a7c15 + (b << 6) + (b >> 2) + b;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

Status check_options(const CommunicatorOptions& options) {
  constexpr std::string_view kTransports[] = {"auto", "inproc", "shm", "tcp"};
  if (std::find(std::begin(kTransports), std::end(kTransports),
                options.transport) == std::end(kTransports))
    return error(Code::kInvalidArgument,
                 "there is no transport \"{}\"; there are auto, inproc, shm, "
                 "tcp (RONDO_TRANSPORT)",
                 options.transport);
  if (!(options.timeout > 0) || !(options.connect_timeout > 0))
    return error(Code::kInvalidArgument, "time-outs must be greater than 0");
  if (options.tcp_streams < 0 || options.tcp_streams > kMaxTcpStreams)
    return error(Code::kInvalidArgument, "tcp_streams must be 0..{}",
                 kMaxTcpStreams);
  return {};
}

GroupOptions group_options(const CommunicatorOptions& options) {
  return {.name = options.name,
          .transport = options.transport,
          .connect_timeout = seconds(options.connect_timeout),
          .tcp_streams = options.tcp_streams,
          .remote_memory = options.remote_memory};
}

std::string card_key(int64_t world, int rank) {
  return fmt::format("world/{}/rank/{}", world, rank);
}

// Publishes this rank's card and reads everybody's; the error says who is
// missing.
Result<std::vector<Card>> exchange_cards(Store& store, const Card& mine,
                                         int rank, int size,
                                         Deadline deadline) {
  // A job may make its world more than once; each rank counts its own times.
  RONDO_ASSIGN_OR_RETURN(const int64_t world,
                         store.add(fmt::format("worlds/{}", rank), 1));
  RONDO_RETURN_IF_ERROR(store.set(card_key(world, rank), mine.to_string()));
  std::vector<Card> cards;
  std::string missing;
  for (int r = 0; r < size; ++r) {
    auto text = store.get(card_key(world, r), deadline);
    if (!text.ok() && text.status().code() != Code::kTimeout)
      return text.status();
    if (!text.ok()) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", r);
      cards.emplace_back();
      continue;
    }
    RONDO_ASSIGN_OR_RETURN(auto card, Card::parse(*text));
    cards.push_back(std::move(card));
  }
  if (!missing.empty())
    return error(Code::kTimeout,
                 "rank {} waited for all {} ranks to start, and these did not "
                 "within the connect time-out: {}\n  do: look at their logs, "
                 "and check that all use the same store ({}) and world size; "
                 "RONDO_CONNECT_TIMEOUT sets how long to wait",
                 rank, size, missing, store.name());
  return cards;
}

// Ranks have to choose algorithms and cut messages alike, so what rank 0 was
// told about both holds for all.
Status agree_with_rank_0(Endpoint& endpoint, uint64_t group,
                         std::span<const int> members,
                         CommunicatorOptions& options, Costs& costs,
                         Deadline deadline) {
  constexpr uint64_t kSettingsRound = 3;
  const std::string mine =
      fmt::format("{}\n{}", options.tcp_streams, costs.to_string());
  RONDO_ASSIGN_OR_RETURN(
      const auto all,
      endpoint.exchange(group, kSettingsRound, members, mine, deadline));
  const std::string& settings = all[0];
  const size_t line = std::min(settings.find('\n'), settings.size());
  std::from_chars(settings.data(), settings.data() + line, options.tcp_streams);
  RONDO_RETURN_IF_ERROR(check_options(options));
  RONDO_ASSIGN_OR_RETURN(
      costs, Costs::parse(settings.substr(line), "rank 0's tuning"));
  return {};
}

}  // namespace

std::string default_tuning_file(const Env& env) {
  const auto config = env.get("XDG_CONFIG_HOME");
  const auto home = env.get("HOME");
  if (config) return *config + "/rondo/tuning";
  return home ? *home + "/.config/rondo/tuning" : "";
}

Result<CommunicatorOptions> CommunicatorOptions::from_env(const Env& env) {
  CommunicatorOptions o;
  RONDO_ASSIGN_OR_RETURN(
      o.connect_timeout,
      env.get_seconds("RONDO_CONNECT_TIMEOUT", o.connect_timeout));
  RONDO_ASSIGN_OR_RETURN(o.timeout,
                         env.get_seconds("RONDO_TIMEOUT", o.timeout));
  if (env.has("RONDO_TOTAL_TIMEOUT")) {
    RONDO_ASSIGN_OR_RETURN(o.total_timeout,
                           env.get_seconds("RONDO_TOTAL_TIMEOUT", 1));
  }
  o.transport = env.get_or("RONDO_TRANSPORT", o.transport);
  o.algorithm = env.get_or("RONDO_ALGORITHM", o.algorithm);
  o.interface = env.get_or("RONDO_INTERFACE", "");
  o.port_range = env.get_or("RONDO_PORT_RANGE", "");
  o.token = env.get_or("RONDO_TOKEN", "");
  RONDO_ASSIGN_OR_RETURN(
      const int64_t streams,
      env.get_int("RONDO_TCP_STREAMS", 0, 0, kMaxTcpStreams));
  o.tcp_streams = static_cast<int>(streams);
  RONDO_ASSIGN_OR_RETURN(o.remote_memory,
                         env.get_bool("RONDO_REMOTE_MEMORY", true));
  o.tuning_file = env.get_or("RONDO_TUNING", "");
  if (o.tuning_file.empty()) {
    const std::string file = default_tuning_file(env);
    if (!file.empty() && access(file.c_str(), R_OK) == 0) o.tuning_file = file;
  }
  return o;
}

Result<Communicator> Communicator::world() {
  RONDO_ASSIGN_OR_RETURN(auto options,
                         CommunicatorOptions::from_env(Env::process()));
  return world(std::move(options));
}

Result<Communicator> Communicator::world(CommunicatorOptions options) {
  RONDO_ASSIGN_OR_RETURN(JobEnv job, JobEnv::from(Env::process()));
  set_log_prefix(fmt::format("rank {}", job.rank));
  RONDO_ASSIGN_OR_RETURN(
      auto store, open_store(job, Deadline(seconds(options.connect_timeout))));
  if (options.token.empty()) options.token = job.token;
  return connect(std::move(store), job.rank, job.size, std::move(options));
}

Result<Communicator> Communicator::connect(std::shared_ptr<Store> store,
                                           int rank, int size,
                                           CommunicatorOptions options) {
  RONDO_RETURN_IF_ERROR(check_options(options));
  if (size < 1 || rank < 0 || rank >= size)
    return error(Code::kInvalidArgument,
                 "rank {} of {} ranks: a rank is 0..size-1", rank, size);
  Costs costs;
  if (!options.tuning_file.empty()) {
    RONDO_ASSIGN_OR_RETURN(costs, Costs::read(options.tuning_file));
  }
  const Deadline deadline(seconds(options.connect_timeout));
  RONDO_ASSIGN_OR_RETURN(const PortRange ports,
                         PortRange::parse(options.port_range));
  RONDO_ASSIGN_OR_RETURN(auto endpoint,
                         Endpoint::start({.interface = options.interface,
                                          .ports = ports,
                                          .token = options.token}));
  std::vector<Card> cards{endpoint->card()};
  if (size > 1) {
    if (store == nullptr)
      return error(Code::kInvalidArgument, "a job of {} ranks needs a store",
                   size);
    RONDO_ASSIGN_OR_RETURN(
        cards, exchange_cards(*store, endpoint->card(), rank, size, deadline));
  }
  uint64_t id = 0;
  for (const Card& card : cards) id = mix(id, card.nonce);
  RONDO_RETURN_IF_ERROR(endpoint->connect(rank, std::move(cards), deadline));
  std::vector<int> members(static_cast<size_t>(size));
  for (int r = 0; r < size; ++r) members[static_cast<size_t>(r)] = r;
  RONDO_RETURN_IF_ERROR(
      agree_with_rank_0(*endpoint, id, members, options, costs, deadline));
  RONDO_ASSIGN_OR_RETURN(auto group,
                         Group::form(endpoint, id, std::move(members),
                                     group_options(options), deadline));
  auto impl = std::make_shared<CommunicatorImpl>(std::move(group),
                                                 std::move(options), costs);
  // Checked here rather than at the first call.
  RONDO_RETURN_IF_ERROR(impl->named_algorithm("").status());
  impl->hold(std::move(store));
  return Communicator(std::move(impl));
}

Result<Communicator> CommunicatorImpl::split(int color, int key) {
  if (group_->failed()) return group_->failure();
  struct Choice {
    int32_t color;
    int32_t key;
  } mine{color, key};
  // Rounds 1 and 2 formed the group.
  constexpr uint64_t kFirstSplitRound = 16;
  const uint64_t number = splits_.fetch_add(1);
  std::string bytes(sizeof mine, '\0');
  std::memcpy(bytes.data(), &mine, sizeof mine);
  const Deadline deadline(seconds(options_.connect_timeout));
  OpTag tag;
  tag.operation = static_cast<uint8_t>(Operation::kSplit);
  auto answers = group_->endpoint()->exchange(
      group_->id(), kFirstSplitRound + number, group_->members(), bytes,
      deadline, [&](int world) -> Status {
        const int peer = group_->index_of(world);
        if (group_->failed()) return group_->failure();
        return group_->left(peer) ? group_->left_error(tag, peer) : Status();
      });
  if (Interrupt::raised()) return group_->interrupted(tag);
  if (!answers.ok())
    return answers.status().with_context(
        fmt::format("split of communicator {}", group_->name()));
  if (color < 0) return Communicator();
  struct Member {
    int32_t key;
    int rank;
  };
  std::vector<Member> chosen;
  for (int r = 0; r < group_->size(); ++r) {
    Choice theirs;
    std::memcpy(&theirs, (*answers)[static_cast<size_t>(r)].data(),
                sizeof theirs);
    if (theirs.color == color) chosen.push_back({theirs.key, r});
  }
  std::sort(chosen.begin(), chosen.end(), [](const Member& a, const Member& b) {
    return std::tie(a.key, a.rank) < std::tie(b.key, b.rank);
  });
  std::vector<int> members;
  for (const Member& m : chosen)
    members.push_back(group_->members()[static_cast<size_t>(m.rank)]);
  CommunicatorOptions options = options_;
  options.name = fmt::format("{}/{}.{}", group_->name(), number, color);
  const uint64_t id =
      mix(mix(group_->id(), number + 1), static_cast<uint64_t>(color));
  auto group = Group::form(group_->endpoint(), id, std::move(members),
                           group_options(options), deadline);
  if (Interrupt::raised()) return group_->interrupted(tag);
  // Why a member is gone says more than that it is.
  if (!group.ok()) return group_->failed() ? group_->failure() : group.status();
  auto impl = std::make_shared<CommunicatorImpl>(std::move(*group),
                                                 std::move(options), costs_);
  impl->drop_impossible_algorithm();
  impl->hold(store_);
  return Communicator(std::move(impl));
}

}  // namespace rondo
