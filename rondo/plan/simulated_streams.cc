// The streams of NetworkSimulator: sockets, which the blocks of a channel's
// messages take in turn.
#include "rondo/plan/network_simulator_impl.h"

#include <algorithm>

namespace rondo {

void NetworkSimulator::join_channel(int i) {
  Act& act = acts_[static_cast<size_t>(i)];
  if (!is_message(act.kind)) return;
  const bool sends = act.kind == ActionKind::kSend;
  const int peer = act.action->peer;
  act.channel = channel(sends ? act.rank : peer, sends ? peer : act.rank);
  SimulatedChannel& to = channels_[static_cast<size_t>(act.channel)];
  (sends ? to.sends : to.receives).push_back(i);
}

int NetworkSimulator::channel(int from, int to) {
  const auto [at, fresh] =
      numbers_.emplace(std::pair(from, to), static_cast<int>(channels_.size()));
  if (!fresh) return at->second;
  SimulatedChannel made = paths_.channel(from, to);
  made.first_stream = static_cast<int>(streams_.size());
  // A server has one socket for each worker, and in memory there are none.
  if (!made.others.empty() && !serves(std::max(from, to)))
    made.streams = network_.streams;
  for (int i = 0; i < made.streams; ++i)
    streams_.push_back({.channel = at->second, .index = i});
  channels_.push_back(std::move(made));
  return at->second;
}

void NetworkSimulator::open_streams() {
  for (SimulatedStream& stream : streams_) {
    stream.next_write.block = stream.next_receive.block =
        stream.index * options_.pieces;
    settle(stream, channel_of(stream).sends, stream.next_write);
    stream.next_send = stream.next_write;
    stream.congestion_window = network_.window;
    settle(stream, channel_of(stream).receives, stream.next_receive);
  }
}

void NetworkSimulator::pair_channels() {
  for (const auto& [ends, there] : numbers_) {
    const auto& [from, to] = ends;
    const auto back = numbers_.find({to, from});
    if (serves(from) || !serves(to) || back == numbers_.end()) continue;
    channels_[static_cast<size_t>(there)].answers = back->second;
    channels_[static_cast<size_t>(back->second)].asks = there;
  }
}

bool NetworkSimulator::waits_for_answers(
    const SimulatedChannel& channel) const {
  if (channel.answers < 0) return false;
  const int answered = channels_[static_cast<size_t>(channel.answers)].arrived;
  return channel.sent > answered &&
         (channel.sent - answered + 1) * piece() > options_.unanswered;
}

void NetworkSimulator::offer_all(int number) {
  const SimulatedChannel& channel = channels_[static_cast<size_t>(number)];
  if (!has_window(channel)) {
    for (int i = 0; i < channel.streams; ++i) offer(channel.first_stream + i);
    return;
  }
  // Who sends a message writes its blocks in order, to one socket after the
  // other, until all are full.
  for (bool any = true; any;) {
    any = false;
    for (int i = 0; i < channel.streams; ++i)
      any |= put_block(channel.first_stream + i);
  }
}

void NetworkSimulator::settle(const SimulatedStream& stream,
                              const std::vector<int>& messages,
                              SimulatedStream::Place& place) const {
  while (place.message < messages.size() &&
         place.block >=
             acts_[static_cast<size_t>(messages[place.message])].blocks) {
    ++place.message;
    place.block = stream.index * options_.pieces;
  }
}

// At the end of a block, past those of the other streams.
void NetworkSimulator::step(const SimulatedStream& stream,
                            const std::vector<int>& messages,
                            SimulatedStream::Place& place) const {
  if (++place.block % options_.pieces == 0)
    place.block += (channel_of(stream).streams - 1) * options_.pieces;
  settle(stream, messages, place);
}

int NetworkSimulator::in_order(int i) const {
  const Act& act = acts_[static_cast<size_t>(i)];
  if (act.arrived == act.blocks) return act.blocks;
  const SimulatedChannel& channel = channels_[static_cast<size_t>(act.channel)];
  int least = act.blocks;
  for (int s = 0; s < channel.streams; ++s) {
    const int number = channel.first_stream + s;
    const SimulatedStream& stream = streams_[static_cast<size_t>(number)];
    const SimulatedStream::Place& next = stream.next_receive;
    if (next.message == channel.receives.size()) continue;
    const int at = channel.receives[next.message];
    if (at == i)
      least = std::min(least, next.block);
    else if (at < i)  // it has not come to this message yet
      least = std::min(least, s * options_.pieces);
  }
  return least;
}

void NetworkSimulator::offer(int number) {
  SimulatedStream& stream = streams_[static_cast<size_t>(number)];
  const SimulatedChannel& channel = channel_of(stream);
  if (has_window(channel)) return fill(number);
  if (stream.waiting || !has_block(stream, stream.next_send)) return;
  SimulatedLink& link = links_[static_cast<size_t>(channel.link)];
  stream.waiting = true;
  stream.tag =
      std::max(stream.tag, link.turn) + bytes_at(stream, stream.next_send);
  link.waiting.emplace(stream.tag, number);
  serve(channel.link);
}

bool NetworkSimulator::has_block(const SimulatedStream& stream,
                                 const SimulatedStream::Place& place) const {
  const SimulatedChannel& channel = channel_of(stream);
  if (place.message == channel.sends.size()) return false;
  if (waits_for_answers(channel)) return false;
  const int i = channel.sends[place.message];
  return may_run(i) && given(acts_[static_cast<size_t>(i)]) > place.block;
}

double NetworkSimulator::bytes_at(const SimulatedStream& stream,
                                  const SimulatedStream::Place& place) const {
  const int i = channel_of(stream).sends[place.message];
  const Act& act = acts_[static_cast<size_t>(i)];
  return std::min(piece(), act.bytes - place.block * piece());
}

void NetworkSimulator::fill(int number) {
  while (put_block(number)) {
  }
}

// All that the window has room for is written to the socket at once. One that
// was full tells its writer of room when a third of it is free.
bool NetworkSimulator::put_block(int number) {
  SimulatedStream& stream = streams_[static_cast<size_t>(number)];
  SimulatedChannel& channel = channels_[static_cast<size_t>(stream.channel)];
  if (stream.full && stream.under_way > network_.window * 2 / 3) return false;
  stream.full = false;
  bool any = false;
  do {
    if (!has_block(stream, stream.next_write)) return any;
    const int bytes = static_cast<int>(bytes_at(stream, stream.next_write));
    stream.full =
        stream.under_way > 0 && stream.under_way + bytes > network_.window;
    if (stream.full) return any;
    stream.under_way += bytes;
    ++stream.unsent;
    ++channel.sent;
    step(stream, channel.sends, stream.next_write);
    send_on(number);
    any = true;
  } while (stream.next_write.block % options_.pieces != 0);
  return any;
}

// A socket gives its host's link no more than may be queued there, so that
// other sockets' turns come earlier, and the network no more than its
// congestion window.
void NetworkSimulator::send_on(int number) {
  SimulatedStream& stream = streams_[static_cast<size_t>(number)];
  const double queued = channel_of(stream).queued;
  if (stream.unsent > 0 && stream.flying.empty()) stream.restart(now_);
  while (stream.unsent > 0) {
    const int bytes = static_cast<int>(bytes_at(stream, stream.next_send));
    if (queued > 0 && !stream.queued.empty() &&
        stream.queued_bytes + bytes > queued)
      return;
    if (!stream.flying.empty() &&
        stream.flying_bytes + bytes > stream.congestion_window)
      return;
    --stream.unsent;
    stream.queued.push(bytes);
    stream.queued_bytes += bytes;
    stream.flying.push(now_);
    stream.flying_bytes += bytes;
    stream.last_sent = now_;
    const auto [act, end] = put(number);
    post(end, Event::Kind::kLeft, act, number);
  }
}

void NetworkSimulator::has_left(int number) {
  SimulatedStream& stream = streams_[static_cast<size_t>(number)];
  stream.queued_bytes -= stream.queued.front();
  stream.queued.pop();
  send_on(number);
}

void NetworkSimulator::acknowledged(int number, int bytes) {
  SimulatedStream& stream = streams_[static_cast<size_t>(number)];
  stream.under_way -= bytes;
  stream.acknowledged(now_, bytes);
  stream.congestion_window =
      std::min(stream.congestion_window, network_.window);
  send_on(number);
  offer(number);
}

void NetworkSimulator::serve(int number) {
  SimulatedLink& link = links_[static_cast<size_t>(number)];
  if (link.busy || link.waiting.empty()) return;
  const auto [tag, s] = link.waiting.top();
  link.waiting.pop();
  link.turn = tag;
  link.busy = true;
  SimulatedStream& stream = streams_[static_cast<size_t>(s)];
  ++channels_[static_cast<size_t>(stream.channel)].sent;
  const auto [act, end] = put(s);
  stream.sending = act;
  post(end, Event::Kind::kLinkFree, number, s);
}

std::pair<int, double> NetworkSimulator::put(int number) {
  SimulatedStream& stream = streams_[static_cast<size_t>(number)];
  const SimulatedChannel& channel = channel_of(stream);
  const int act = channel.sends[stream.next_send.message];
  Passage passage{.stream = number,
                  .bytes = bytes_at(stream, stream.next_send)};
  step(stream, channel.sends, stream.next_send);
  travel(passage, channel.link);
  return {act, passage.end};
}

void NetworkSimulator::sent(int number) {
  SimulatedStream& stream = streams_[static_cast<size_t>(number)];
  const int i = stream.sending;
  stream.waiting = false;
  offer(number);
  advance(i, acts_[static_cast<size_t>(i)].done + 1);
}

// The first byte may be in the next link before the last has left this one.
void NetworkSimulator::travel(Passage& passage, int number) {
  SimulatedLink& link = links_[static_cast<size_t>(number)];
  const SimulatedChannel& channel =
      channel_of(streams_[static_cast<size_t>(passage.stream)]);
  passage.end = std::max(passage.end, link.send(now_, passage.bytes));
  link.free = std::max(link.free, passage.end - link.burst);
  if (passage.hop == channel.others.size()) {
    post(passage.end + channel.latency, Event::Kind::kArrival, passage.stream,
         static_cast<int>(passage.bytes), number);
    return;
  }
  const double took =
      std::min(passage.end - now_, passage.bytes / link.last_rate());
  post(passage.end - took, Event::Kind::kHop, keep(passage), 0, number);
}

int NetworkSimulator::keep(const Passage& passage) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<int>(passages_.size()));
    passages_.emplace_back();
  }
  const int number = unused_.back();
  unused_.pop_back();
  passages_[static_cast<size_t>(number)] = passage;
  return number;
}

void NetworkSimulator::hop(int number) {
  unused_.push_back(number);
  Passage passage = passages_[static_cast<size_t>(number)];
  const SimulatedChannel& channel =
      channel_of(streams_[static_cast<size_t>(passage.stream)]);
  travel(passage, channel.others[passage.hop++]);
}

void NetworkSimulator::arrive(int number, int bytes) {
  SimulatedStream& stream = streams_[static_cast<size_t>(number)];
  SimulatedChannel& channel = channels_[static_cast<size_t>(stream.channel)];
  ++channel.arrived;
  const int i = channel.receives[stream.next_receive.message];
  ++acts_[static_cast<size_t>(i)].arrived;
  step(stream, channel.receives, stream.next_receive);
  if (has_window(channel))
    post(acknowledge(channel, bytes), Event::Kind::kAcknowledged, number,
         bytes);
  if (channel.asks >= 0) offer_all(channel.asks);
  progress(i);
}

// What is in the queues of the links on the way back goes first.
double NetworkSimulator::acknowledge(const SimulatedChannel& channel,
                                     double bytes) {
  double at = now_;
  for (const int number : channel.back) {
    SimulatedLink& link = links_[static_cast<size_t>(number)];
    at = std::max(at, link.send(now_, bytes * channel.acknowledgement));
  }
  return at + channel.latency;
}

}  // namespace rondo
