// The door of one pipeline's crew: the trainers who may start the crew's process, and that process's session. Control
// thread, unless a function says otherwise.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/system/event_loop.h"
#include "daemon/control/service.h"
#include "daemon/user/crew.h"

namespace spdld::user {

// The way to the control thread, for as long as the node's crews last. Any thread.
class ToControl {
 public:
  explicit ToControl(EventLoop& loop) : loop_(&loop) {}
  void post(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    if (loop_ != nullptr) loop_->post(std::move(task));
  }
  void end() {
    const std::lock_guard lock(mutex_);
    loop_ = nullptr;
  }

 private:
  std::mutex mutex_;
  EventLoop* loop_;
};

class Door : public std::enable_shared_from_this<Door> {
 private:
  struct Private {};

 public:
  // After these times a process that was asked for must have joined, and have loaded its functions.
  static constexpr uint64_t kJoinNsMax = 60'000'000'000;
  static constexpr uint64_t kReadyNsMax = 600'000'000'000;
  // How long a process may be there without a trainer, who may be about to get a seat.
  static constexpr uint64_t kUnusedNsMax = 5'000'000'000;
  static constexpr uint32_t kLossesMax = 3;  // of processes in a row that were never ready

  struct Settings {
    Crew::Settings crew;
    std::string errands;      // the document of CREW_JOINED
    uint64_t memory_max = 0;  // of a worker
  };

  // Any thread. Throws SetupError.
  static std::shared_ptr<Door> make(std::shared_ptr<ToControl> control, Settings settings);

  Door(Private, std::shared_ptr<ToControl> control, Settings settings)  // make() alone can call it
      : control_(std::move(control)), settings_(std::move(settings)) {}
  Crew& crew() { return *crew_; }
  // Ends the process and the crew. Precondition: the pipeline has no jobs any more.
  void shut();

  bool has_process() const { return process_ != nullptr; }
  bool is_of(uid_t uid) const { return !uid_ || *uid_ == uid; }
  // A trainer that may start the process. The first one's user is the crew's.
  void add_starter(uid_t uid, const std::shared_ptr<control::AttachReply>& reply);
  void set_in_use(bool in_use);
  bool has_token(std::string_view token) const { return !token_.empty() && token_ == token; }
  std::unique_ptr<control::CrewSeat> join(const std::shared_ptr<control::CrewReply>& process);
  void tick(uint64_t now_ns);

 private:
  class Seat;

  Crew::Orders orders();
  void post(std::function<void(Door&)> task);
  void ask();
  void on_ready();
  void on_gone(const control::CrewReply* process);
  void on_closed();
  void fail(const std::string& why);
  void end_process(std::string_view why);

  const std::shared_ptr<ToControl> control_;
  const Settings settings_;
  std::unique_ptr<Crew> crew_;
  std::optional<uid_t> uid_;  // whose code it runs; none: nobody has come yet
  std::vector<std::weak_ptr<control::AttachReply>> starters_;
  std::weak_ptr<control::AttachReply> asked_;
  std::shared_ptr<control::CrewReply> process_;  // null: none has joined
  std::string token_;                            // of the process that was asked for and has not joined; empty: none
  uint64_t since_ns_ = 0;                        // it was asked for, or has joined
  uint64_t unused_since_ns_ = 0;
  bool is_ready_ = false;
  bool is_in_use_ = false;
  uint32_t losses_ = 0;
};

}  // namespace spdld::user
