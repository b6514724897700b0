#include "client/cli/top/looker.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include "client/cli/cli.h"

namespace spdld::cli::top {
namespace {

constexpr std::chrono::milliseconds kAgain{20};  // a signal that came just before a wait has not ended it

}  // namespace

Looker::Looker(Ask ask, double interval_s)
    : ask_(std::move(ask)), interval_s_(interval_s), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw std::system_error(errno, std::generic_category(), "can't make an eventfd");
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  sigaction(SIGUSR1, &action, &action_before_);
  thread_ = std::thread([this] { run(); });
}

Looker::~Looker() {
  std::unique_lock lock(mutex_);
  is_to_end_ = true;
  changed_.notify_all();
  while (!has_ended_) {
    pthread_kill(thread_.native_handle(), SIGUSR1);
    changed_.wait_for(lock, kAgain);
  }
  lock.unlock();
  thread_.join();
  sigaction(SIGUSR1, &action_before_, nullptr);
}

Looker::Answer Looker::look() const {
  try {
    return {ask_(), ""};
  } catch (const std::exception& error) {
    return {std::nullopt, error.what()};
  }
}

void Looker::run() {
  using Clock = std::chrono::steady_clock;
  const auto interval = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(interval_s_));
  std::unique_lock lock(mutex_);
  auto next = Clock::now() + interval;
  while (!changed_.wait_until(lock, next, [this] { return is_to_end_; })) {
    next = Clock::now() + interval;
    lock.unlock();
    Answer answer = look();
    lock.lock();
    if (is_to_end_) break;
    newest_ = std::move(answer);
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof one);  // fails where it tells it already
  }
  has_ended_ = true;
  changed_.notify_all();
}

std::optional<Looker::Answer> Looker::take() {
  const std::lock_guard lock(mutex_);
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(event_.get(), &count, sizeof count);  // fails where nothing was told
  return std::exchange(newest_, std::nullopt);
}

}  // namespace spdld::cli::top
