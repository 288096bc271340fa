// NetworkSimulator: the ranks' acts, in network_simulator.cc, and the sockets
// by which their messages travel, in simulated_streams.cc. Internal to this
// folder.
#pragma once

#include <map>

#include "rondo/plan/event_queue.h"
#include "rondo/plan/network_paths.h"
#include "rondo/plan/network_simulator.h"
#include "rondo/plan/simulated_parts.h"

namespace rondo {

class NetworkSimulator {
 public:
  NetworkSimulator(const Network& network,
                   std::span<const SimulatedOperation> operations,
                   const NetworkSimulation& options);

  // Begins when the other one, of the same network, has ended.
  void come_behind(const NetworkSimulator& other);
  Result<std::vector<std::vector<double>>> run();

 private:
  // Plans as acts. A block may be cut into pieces, and then "block" in what
  // follows is a piece.
  void add_acts(int rank);
  void add_plan(int rank, int op);
  bool apart(int op) const {
    return operations_[static_cast<size_t>(op)].apart;
  }
  double piece() const { return network_.block / options_.pieces; }
  double part() const {
    return options_.part > 0 ? options_.part : network_.part;
  }
  bool serves(int rank) const { return rank >= network_.workers; }
  // Pieces that are passed on together: a block, or what a server waits for.
  int grain(const Act& act) const;

  void post(double time, Event::Kind kind, int a, int b = 0,
            int lane = EventQueue::kNoLane) {
    events_.post(time, kind, a, b, lane);
  }
  void handle(const Event& event);

  // Acts.
  bool may_run(int i) const;
  // Blocks of `act` that what it waits for has given.
  int given(const Act& act) const;
  void progress(int i);
  void advance(int i, int done);
  bool takes_time(const Act& act) const;
  // Lets those go on that wait for an act.
  void wake_dependents(const Act& act);
  void count_end(const Act& act);

  // Ranks.
  int host_of(int rank) const { return paths_.host_of(rank); }
  // Begins what the rank may, after one of its operations became ready.
  void look_again(int rank);
  // Comes to the next barrier once all before it is finished.
  void go_on(int rank);
  double memory_seconds(const Act& act) const;
  void meet(int rank);
  // The rank is through its barrier, and begins what lies before the next.
  void pass(int rank);

  // Channels and their streams.
  void join_channel(int i);
  int channel(int from, int to);
  void open_streams();
  // Those from workers to servers with those back.
  void pair_channels();
  // Whether it has to wait for answers before it sends another block.
  bool waits_for_answers(const SimulatedChannel& channel) const;
  const SimulatedChannel& channel_of(const SimulatedStream& stream) const {
    return channels_[static_cast<size_t>(stream.channel)];
  }
  // Whether so and so many bytes may be under way, and no more.
  bool has_window(const SimulatedChannel& channel) const {
    return network_.window > 0 && !channel.others.empty();
  }
  // Comes to the first place from here on, of these messages, where the stream
  // has a block.
  void settle(const SimulatedStream& stream, const std::vector<int>& messages,
              SimulatedStream::Place& place) const;
  // Past a block.
  void step(const SimulatedStream& stream, const std::vector<int>& messages,
            SimulatedStream::Place& place) const;
  // Blocks of a receive that have arrived, before the first that has not.
  int in_order(int i) const;

  // Sending. Lets streams wait for their link if they have a block to send.
  void offer_all(int channel);
  void offer(int stream);
  bool has_block(const SimulatedStream& stream,
                 const SimulatedStream::Place& place) const;
  double bytes_at(const SimulatedStream& stream,
                  const SimulatedStream::Place& place) const;
  void fill(int stream);
  // Writes the next block of a stream, or what of it its window has room for;
  // whether there was any.
  bool put_block(int stream);
  // Gives its link what was written, as far as it may be on its way.
  void send_on(int stream);
  // A block of it is through its first link; the sender knows that so many
  // bytes of it have come.
  void has_left(int stream);
  void acknowledged(int stream, int bytes);
  void serve(int link);
  // Gives the next block to the stream's link: the act, and when it is through.
  std::pair<int, double> put(int stream);
  // The last byte of the stream's block is through its first link, which the
  // stream may wait for again. Only without a window: else blocks queue up.
  void sent(int stream);
  // A block comes to a link.
  void travel(Passage& passage, int link);
  int keep(const Passage& passage);
  void hop(int passage);
  void arrive(int stream, int bytes);
  // Sends it for bytes that have arrived: when the sender knows of them.
  double acknowledge(const SimulatedChannel& channel, double bytes);

  const Network& network_;
  const std::span<const SimulatedOperation> operations_;
  const NetworkSimulation options_;
  const NetworkPaths paths_;
  std::vector<SimulatedLink> links_;
  std::vector<Act> acts_;
  std::vector<Rank> ranks_;
  std::vector<SimulatedChannel> channels_;
  std::vector<SimulatedStream> streams_;
  std::vector<Passage> passages_;
  std::vector<int> unused_;                     // of these
  std::map<std::pair<int, int>, int> numbers_;  // of channels
  std::vector<std::vector<int>> at_fence_;      // ranks, by host
  std::vector<std::vector<int>> left_;          // acts, by operation and rank
  std::vector<std::vector<double>> ends_;
  std::vector<std::vector<bool>> ready_;
  EventQueue events_;  // a lane for each link, and for each rank
  double now_ = 0;
};

}  // namespace rondo
