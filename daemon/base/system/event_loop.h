// The control thread's event loop, with everything that it waits for: posted tasks, timers, descriptors and signals.
// Boost.Asio stands behind this header, in one source file, so that no other file compiles Boost.Asio.
//
// Unless a function says otherwise, only the thread that calls run() may call it, or before run() the thread that
// builds everything. A task that is posted or waiting when the loop ends is destroyed without having run.
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

#include "proto/unique_fd.h"

namespace spdld {

class EventLoop {
 public:
  using Task = std::function<void()>;

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs tasks until stop(). A task that throws std::bad_alloc ends, with a line in the log, and the loop goes on: a
  // task whose end would leave others waiting catches it itself.
  void run();
  // Runs the tasks that are ready, and the tasks that these post, and returns without waiting. For tests, in the place
  // of run().
  void run_ready();
  // Makes run() return after the task that runs now. Any thread.
  void stop();

  // Runs `task` on the loop's thread, after the tasks posted before. Any thread.
  template <typename F>
  void post(F task) {
    if constexpr (std::is_copy_constructible_v<F>)
      post_task(std::move(task));
    else
      post_task([held = std::make_shared<F>(std::move(task))] { (*held)(); });
  }

 private:
  friend class Timer;
  friend class Watch;
  friend class Signals;
  struct Impl;

  void post_task(Task task);

  std::unique_ptr<Impl> impl_;
};

// One deadline at a time. Ends before the loop does.
class Timer {
 public:
  explicit Timer(EventLoop& loop);
  ~Timer();

  // Runs `expired` after `delay`, in place of the task that waited before.
  void start(std::chrono::milliseconds delay, EventLoop::Task expired);
  // The waiting task does not run any more, not even when its time has come already.
  void cancel();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// A descriptor that the loop waits for: a socket, a listener, a pidfd. Owns the descriptor. Ends before the loop does.
class Watch {
 public:
  // Without a descriptor; assign() gives one.
  explicit Watch(EventLoop& loop);
  // Throws std::system_error where the kernel can't watch `fd`.
  Watch(EventLoop& loop, UniqueFd fd);
  ~Watch();

  // Precondition: nothing is open. Throws as the constructor.
  void assign(UniqueFd fd);
  // Closes the descriptor. The waiting tasks do not run any more.
  void close();
  // Gives the descriptor away instead; none is open any more.
  UniqueFd take();
  bool is_open() const;
  int fd() const;  // -1: nothing is open

  // Runs the task once when the descriptor can be read from or written to. Readable is only a hint: the loop may pass
  // on news of an earlier descriptor that had the same number.
  void when_readable(EventLoop::Task task);
  void when_writable(EventLoop::Task task);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// Signals of the process as tasks of the loop. Ends before the loop does.
class Signals {
 public:
  // `heard` is called with each signal that comes.
  Signals(EventLoop& loop, std::initializer_list<int> signals, std::function<void(int)> heard);
  ~Signals();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace spdld
