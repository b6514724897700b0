#include "daemon/user/door.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>

#include "daemon/base/system/cpu.h"
#include "daemon/base/system/log.h"
#include "proto/hex.h"

namespace spdld::user {
namespace {

// 128 bits that nobody can guess. Empty: the system has none.
std::string make_token() {
  std::array<uint8_t, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return "";
  std::string token;
  for (const uint8_t byte : bytes) append_hex(token, byte);
  return token;
}

}  // namespace

// The process's session holds it.
class Door::Seat final : public control::CrewSeat {
 public:
  Seat(std::weak_ptr<Door> door, const control::CrewReply* process) : door_(std::move(door)), process_(process) {}
  ~Seat() override {
    if (const auto door = door_.lock()) door->on_gone(process_);
  }
  void progress(std::string_view what, uint32_t done, uint32_t total) override {
    with_door([&](const Door& door) {
      log::limited(log::Level::kInfo, {door.settings_.crew.pipeline},
                   "pipeline {}: the processes of user code: {} ({} of {})", door.settings_.crew.pipeline, what, done,
                   total);
    });
  }
  void ready() override {
    with_door([](Door& door) { door.on_ready(); });
  }
  void failed(std::string_view why) override {
    with_door([&](Door& door) { door.fail(std::string(why)); });
  }
  void worker_ended(uint32_t worker, std::string_view how) override {
    with_door([&](Door& door) { door.crew_->note_end(worker, std::string(how)); });
  }

 private:
  template <typename Task>
  void with_door(const Task& task) {
    const auto door = door_.lock();
    if (door && door->process_.get() == process_) task(*door);
  }

  const std::weak_ptr<Door> door_;
  const control::CrewReply* const process_;
};

std::shared_ptr<Door> Door::make(std::shared_ptr<ToControl> control, Settings settings) {
  const auto door = std::make_shared<Door>(Private{}, std::move(control), std::move(settings));
  door->crew_ = std::make_unique<Crew>(door->settings_.crew, door->orders());
  return door;
}

// Runs on the control thread, while the door is there.
void Door::post(std::function<void(Door&)> task) {
  control_->post([self = weak_from_this(), task = std::move(task)] {
    if (const auto door = self.lock(); door && door->crew_) task(*door);
  });
}

Crew::Orders Door::orders() {
  return {.start =
              [this](uint32_t worker, std::vector<UniqueFd> descriptors) {
                const auto held = std::make_shared<std::vector<UniqueFd>>(std::move(descriptors));
                post([worker, held](Door& door) {
                  if (door.process_) door.process_->start_worker(worker, std::move(*held));
                });
              },
          .end =
              [this](uint32_t worker) {
                post([worker](Door& door) {
                  if (door.process_) door.process_->end_worker(worker);
                });
              },
          .closed = [this] { post([](Door& door) { door.on_closed(); }); },
          .failed =
              [this](const Error& error) {
                post([error](Door& door) {
                  log::error("pipeline {}: {}", door.settings_.crew.pipeline, error.message);
                  door.end_process("its crew has failed");
                });
              }};
}

void Door::shut() {
  end_process("its pipeline is closed");
  crew_.reset();
}

void Door::add_starter(uid_t uid, const std::shared_ptr<control::AttachReply>& reply) {
  uid_ = uid;
  std::erase_if(starters_, [](const auto& starter) { return starter.expired(); });
  starters_.push_back(reply);
  if (!is_in_use_ && !process_) {
    crew_->forget_failure();
    losses_ = 0;
    unused_since_ns_ = monotonic_ns();
  }
  ask();
}

void Door::set_in_use(bool in_use) {
  if (is_in_use_ == in_use) return;
  is_in_use_ = in_use;
  unused_since_ns_ = monotonic_ns();
  if (in_use) return ask();
  token_.clear();
  end_process("its last trainer has gone");
}

// One of the trainers is to start the process, where there is none.
void Door::ask() {
  if (process_ || !token_.empty() || crew_->has_failed() || !crew_->is_closed()) return;
  for (const auto& starter : starters_) {
    const auto reply = starter.lock();
    if (!reply) continue;
    token_ = make_token();
    if (token_.empty()) return fail("the system gives no random numbers");
    asked_ = starter;
    since_ns_ = monotonic_ns();
    return reply->want_crew(token_);
  }
}

std::unique_ptr<control::CrewSeat> Door::join(const std::shared_ptr<control::CrewReply>& process) {
  token_.clear();
  process_ = process;
  since_ns_ = monotonic_ns();
  is_ready_ = false;
  process->joined({.errands = settings_.errands,
                   .scratch_fd = crew_->scratch().fd(),
                   .scratch_bytes = crew_->scratch().bytes(),
                   .memory_max = settings_.memory_max});
  return std::make_unique<Seat>(weak_from_this(), process.get());
}

void Door::on_ready() {
  if (std::exchange(is_ready_, true)) return;
  losses_ = 0;
  crew_->open();
}

// The process has gone by itself, or was ended.
void Door::on_gone(const control::CrewReply* process) {
  if (process_.get() != process) return;
  process_.reset();
  if (!is_ready_ && is_in_use_ && ++losses_ >= kLossesMax)
    fail("the processes of user code end before they are ready: look at the trainer's stderr");
  crew_->close();
}

void Door::on_closed() {
  if (is_in_use_) ask();
}

void Door::fail(const std::string& why) { crew_->fail({Trouble::kUsage, why}); }

void Door::end_process(std::string_view why) {
  if (const auto process = std::exchange(process_, nullptr)) process->end(why);
  if (crew_) crew_->close();
}

void Door::tick(uint64_t now_ns) {
  const uint64_t waited_ns = now_ns - std::min(now_ns, since_ns_);
  if (!token_.empty() && asked_.expired()) {
    token_.clear();
    ask();
  } else if (!token_.empty() && waited_ns > kJoinNsMax) {
    token_.clear();
    fail("the processes of user code did not start within 60 s: look at the trainer's stderr");
  } else if (process_ && !is_ready_ && waited_ns > kReadyNsMax) {
    fail("the processes of user code were not ready within 10 minutes: which module takes so long to load?");
  }
  if (process_ && !is_in_use_ && now_ns - std::min(now_ns, unused_since_ns_) > kUnusedNsMax)
    end_process("nobody uses its pipeline");
}

}  // namespace spdld::user
