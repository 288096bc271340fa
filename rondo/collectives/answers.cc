// Answers: who only sends to a rank would not notice that it expects something
// else, and could be in the next operation before anybody does.
#include <algorithm>
#include <vector>

#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan_parts.h"

namespace rondo {

Plan with_answers(Plan plan) {
  std::vector<int> to;  // this rank sends to these
  std::vector<int> from;
  for (const Action& action : plan.actions) {
    if (!is_message(action.kind)) continue;
    std::vector<int>& peers = action.kind == ActionKind::kSend ? to : from;
    if (std::find(peers.begin(), peers.end(), action.peer) == peers.end())
      peers.push_back(action.peer);
  }
  const Range nothing = output_range({0, 0});
  for (int peer : from)
    if (std::find(to.begin(), to.end(), peer) == to.end())
      plan.send(peer, nothing, 0);
  for (int peer : to)
    if (std::find(from.begin(), from.end(), peer) == from.end())
      plan.recv(peer, nothing, 0);
  return plan;
}

}  // namespace rondo
