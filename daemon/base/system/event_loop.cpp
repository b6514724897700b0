#include "daemon/base/system/event_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <new>
#include <system_error>

#include "daemon/base/system/log.h"

namespace spdld {

namespace asio = boost::asio;
using boost::system::error_code;

struct EventLoop::Impl {
  asio::io_context context;
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
};

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {}
EventLoop::~EventLoop() = default;

void EventLoop::run() {
  for (;;) {
    try {
      impl_->context.run();
      return;
    } catch (const std::bad_alloc&) {
      log::error("spdld is short of memory: the control thread could not end what it did");
    }
  }
}

void EventLoop::run_ready() { impl_->context.poll(); }
void EventLoop::stop() { impl_->context.stop(); }
void EventLoop::post_task(Task task) { asio::post(impl_->context, std::move(task)); }

// Handlers hold what they need weakly: their owner may end while they are on their way. `turn` tells a wait that was
// cancelled, although Asio had queued its handler already, from the current wait.
struct Timer::Impl {
  explicit Impl(asio::io_context& context) : timer(context) {}
  asio::steady_timer timer;
  uint64_t turn = 0;
};

Timer::Timer(EventLoop& loop) : impl_(std::make_shared<Impl>(loop.impl_->context)) {}
Timer::~Timer() = default;

void Timer::start(std::chrono::milliseconds delay, EventLoop::Task expired) {
  impl_->timer.expires_after(delay);
  impl_->timer.async_wait(
      [weak = std::weak_ptr<Impl>(impl_), turn = ++impl_->turn, expired = std::move(expired)](error_code error) {
        const auto impl = weak.lock();
        if (!error && impl && impl->turn == turn) expired();
      });
}

void Timer::cancel() {
  impl_->turn++;
  impl_->timer.cancel();
}

struct Watch::Impl {
  explicit Impl(asio::io_context& context) : descriptor(context) {}

  static void wait(const std::shared_ptr<Impl>& impl, asio::posix::stream_descriptor::wait_type what,
                   EventLoop::Task task) {
    impl->descriptor.async_wait(
        what, [weak = std::weak_ptr<Impl>(impl), turn = impl->turn, task = std::move(task)](error_code error) {
          const auto held = weak.lock();
          if (!error && held && held->turn == turn) task();
        });
  }

  asio::posix::stream_descriptor descriptor;
  uint64_t turn = 0;  // of the descriptor that is open
};

Watch::Watch(EventLoop& loop) : impl_(std::make_shared<Impl>(loop.impl_->context)) {}
Watch::Watch(EventLoop& loop, UniqueFd fd) : Watch(loop) { assign(std::move(fd)); }
Watch::~Watch() = default;

void Watch::assign(UniqueFd fd) {
  error_code error;
  impl_->descriptor.assign(fd.get(), error);
  if (error) throw std::system_error(error.value(), std::generic_category(), "a descriptor can't be watched");
  fd.release();
}

void Watch::close() {
  impl_->turn++;
  error_code ignored;
  impl_->descriptor.close(ignored);
}

UniqueFd Watch::take() {
  impl_->turn++;
  if (!impl_->descriptor.is_open()) return {};
  return UniqueFd(impl_->descriptor.release());
}

bool Watch::is_open() const { return impl_->descriptor.is_open(); }
int Watch::fd() const { return impl_->descriptor.native_handle(); }

void Watch::when_readable(EventLoop::Task task) {
  Impl::wait(impl_, asio::posix::stream_descriptor::wait_read, std::move(task));
}

void Watch::when_writable(EventLoop::Task task) {
  Impl::wait(impl_, asio::posix::stream_descriptor::wait_write, std::move(task));
}

struct Signals::Impl {
  Impl(asio::io_context& context, std::function<void(int)> task) : signals(context), heard(std::move(task)) {}

  static void wait(const std::shared_ptr<Impl>& impl) {
    impl->signals.async_wait([weak = std::weak_ptr<Impl>(impl)](error_code error, int signal) {
      const auto held = weak.lock();
      if (error || !held) return;
      held->heard(signal);
      wait(held);
    });
  }

  asio::signal_set signals;
  std::function<void(int)> heard;
};

Signals::Signals(EventLoop& loop, std::initializer_list<int> signals, std::function<void(int)> heard)
    : impl_(std::make_shared<Impl>(loop.impl_->context, std::move(heard))) {
  for (const int signal : signals) impl_->signals.add(signal);
  Impl::wait(impl_);
}

Signals::~Signals() = default;

}  // namespace spdld
