#include "daemon/control/commands.h"

#include <algorithm>
#include <array>

namespace spdld::control {

const Command* Command::find(proto::Body body) {
  using proto::Body;
  static constexpr std::array<Command, 12> kCommands = {{
      {Body::Hello, false, &Session::on_hello},
      {Body::Attach, true, &Session::on_attach},
      {Body::Release, true, &Session::on_release},
      {Body::Seek, true, &Session::on_seek},
      {Body::Detach, true, &Session::on_detach},
      {Body::Query, true, &Session::on_query},
      {Body::Push, true, &Session::on_push},
      {Body::JoinCrew, true, &Session::on_join_crew},
      {Body::CrewProgress, true, &Session::on_crew_progress},
      {Body::CrewReady, true, &Session::on_crew_ready},
      {Body::CrewFailed, true, &Session::on_crew_failed},
      {Body::WorkerEnded, true, &Session::on_worker_ended},
  }};
  static_assert(std::is_sorted(kCommands.begin(), kCommands.end(), [](auto& a, auto& b) { return a.body < b.body; }));
  const auto at = std::lower_bound(kCommands.begin(), kCommands.end(), body,
                                   [](const Command& command, Body wanted) { return command.body < wanted; });
  return at != kCommands.end() && at->body == body ? &*at : nullptr;
}

}  // namespace spdld::control
