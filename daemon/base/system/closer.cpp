#include "daemon/base/system/closer.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include <array>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/base/system/cpu.h"

namespace spdld {
namespace {

constexpr auto kHurried = std::chrono::milliseconds(1);  // the patience where many descriptors wait
constexpr size_t kHurriedFrom = 8;                       // descriptors in one lane
constexpr long kAgainNs = 5'000'000;  // a signal that came before the close began has interrupted nothing

int interrupting_signal() { return SIGRTMIN + 3; }

// The handler does nothing, and a call that it interrupts is not restarted.
void handle_signal() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  sigemptyset(&action.sa_mask);
  sigaction(interrupting_signal(), &action, nullptr);
}

// Signals the thread that made it, again and again, while a call takes longer than it should.
class Alarm {
 public:
  Alarm() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, interrupting_signal());
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = interrupting_signal();
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    works_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
  }
  ~Alarm() {
    if (works_) timer_delete(timer_);
  }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  void start(std::chrono::milliseconds patience) {
    const auto ms = patience.count();
    set({{0, kAgainNs}, {static_cast<time_t>(ms / 1000), static_cast<long>(ms % 1000) * 1'000'000}});
  }
  void stop() { set({}); }

 private:
  void set(const itimerspec& times) {
    if (works_) timer_settime(timer_, 0, &times, nullptr);
  }
  timer_t timer_ = {};
  bool works_ = false;
};

}  // namespace

struct Closer::Inside {
  using LaneKey = std::pair<uid_t, DescriptorClass>;
  struct Lane {
    std::deque<UniqueFd> waiting;
    bool served = false;  // a thread closes one of its descriptors
    size_t size() const { return waiting.size() + (served ? 1 : 0); }
  };

  explicit Inside(const Limits& wanted) : limits(wanted) {}

  void work() {
    Alarm alarm;
    std::unique_lock lock(mutex);
    for (;;) {
      idle++;
      wake.wait(lock, [this] { return !turns.empty() || ending; });
      idle--;
      if (turns.empty() || abandoned) break;
      const LaneKey key = turns.front();
      turns.pop_front();
      close_next(key, alarm, lock);
    }
    ended++;
    thread_ended.notify_all();
  }

  void close_next(const LaneKey& key, Alarm& alarm, std::unique_lock<std::mutex>& lock) {
    Lane& lane = lanes.at(key);
    UniqueFd fd = std::move(lane.waiting.front());
    lane.waiting.pop_front();
    lane.served = true;
    const bool hurried = ending || lane.waiting.size() >= kHurriedFrom;
    const auto patience = hurried ? std::min(kHurried, limits.patience) : limits.patience;
    lock.unlock();
    const uint64_t begin_ns = monotonic_ns();
    alarm.start(patience);
    fd.reset();
    alarm.stop();
    const bool was_long = monotonic_ns() - begin_ns > static_cast<uint64_t>(patience.count()) * 1'000'000;
    lock.lock();
    if (was_long) interrupted++;
    lane.served = false;
    of_class[static_cast<size_t>(key.second)]--;
    if (lane.waiting.empty())
      lanes.erase(key);
    else
      turns.push_back(key);  // behind the other lanes
  }

  const Limits limits;
  mutable std::mutex mutex;
  std::condition_variable wake, thread_ended;
  std::map<LaneKey, Lane> lanes;  // under mutex, as the following
  std::deque<LaneKey> turns;      // lanes with a waiting descriptor that no thread serves, each once
  std::array<size_t, 2> of_class = {};
  uint64_t interrupted = 0;
  unsigned idle = 0, ended = 0;
  bool ending = false, abandoned = false;
  std::vector<std::thread> threads;
};

namespace {

template <typename Inside>
void add_thread(const std::shared_ptr<Inside>& inside) {
  inside->threads.emplace_back([inside, number = inside->threads.size()] {
    name_thread("closer", static_cast<unsigned>(number));
    inside->work();
  });
}

}  // namespace

Closer::Closer(const Limits& limits) : inside_(std::make_shared<Inside>(limits)) {
  handle_signal();
  const std::scoped_lock lock(inside_->mutex);
  add_thread(inside_);
}

Closer::~Closer() {
  Inside& inside = *inside_;
  std::unique_lock lock(inside.mutex);
  inside.ending = true;
  inside.wake.notify_all();
  const bool all =
      inside.thread_ended.wait_for(lock, inside.limits.end, [&] { return inside.ended == inside.threads.size(); });
  inside.abandoned = true;
  for (auto& [key, lane] : inside.lanes)
    for (UniqueFd& fd : lane.waiting) fd.release();  // the end of the process closes it, without waiting
  std::vector<std::thread> threads = std::move(inside.threads);
  lock.unlock();
  for (std::thread& thread : threads) all ? thread.join() : thread.detach();
}

void Closer::close(uid_t user, DescriptorClass descriptor_class, UniqueFd fd) {
  if (!fd) return;
  Inside& inside = *inside_;
  const std::scoped_lock lock(inside.mutex);
  const Inside::LaneKey key{user, descriptor_class};
  Inside::Lane& lane = inside.lanes[key];
  const bool has_turn = lane.served || !lane.waiting.empty();
  lane.waiting.push_back(std::move(fd));
  inside.of_class[static_cast<size_t>(descriptor_class)]++;
  if (has_turn) return;
  inside.turns.push_back(key);
  const bool more_wanted = inside.turns.size() > inside.idle && inside.threads.size() < inside.limits.threads_max;
  if (more_wanted) try {
      add_thread(inside_);
    } catch (const std::system_error&) {  // the threads that there are do it
    }
  inside.wake.notify_one();
}

bool Closer::full(uid_t user, DescriptorClass descriptor_class) const {
  const std::scoped_lock lock(inside_->mutex);
  const auto lane = inside_->lanes.find({user, descriptor_class});
  if (lane == inside_->lanes.end()) return false;
  return lane->second.size() > inside_->limits.lane_max ||
         inside_->of_class[static_cast<size_t>(descriptor_class)] > inside_->limits.all_max;
}

bool Closer::full(DescriptorClass descriptor_class) const {
  const std::scoped_lock lock(inside_->mutex);
  return inside_->of_class[static_cast<size_t>(descriptor_class)] > inside_->limits.all_max;
}

size_t Closer::waiting() const {
  const std::scoped_lock lock(inside_->mutex);
  return inside_->of_class[0] + inside_->of_class[1];
}

uint64_t Closer::interrupted() const {
  const std::scoped_lock lock(inside_->mutex);
  return inside_->interrupted;
}

}  // namespace spdld
