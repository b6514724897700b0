#include "client/src/calls/connection.h"

#include <poll.h>

#include <cerrno>
#include <system_error>

#include "proto/text.h"

namespace spdld::client {

namespace {

// A release that found the socket full is tried again this often while its process waits for a batch.
constexpr int64_t kFlush_ms = 100;

}  // namespace

bool Connection::flush_locked() {
  while (!closed_ && !unsent_.empty()) {
    const proto::IoStatus status = proto::send_message(socket_.get(), unsent_.front());
    if (status == proto::IoStatus::kWouldBlock) return false;
    unsent_.pop_front();
    if (status != proto::IoStatus::kOk) closed_ = true;
  }
  if (closed_) unsent_.clear();
  return !closed_;
}

bool Connection::send(std::span<const uint8_t> bytes, std::span<const int> fds) {
  const std::lock_guard lock(mutex_);
  return flush_locked() && proto::send_message(socket_.get(), bytes, fds) == proto::IoStatus::kOk;
}

void Connection::release(const ReleaseNote& note) {
  flatbuffers::FlatBufferBuilder builder(128);
  const auto body =
      proto::CreateRelease(builder, note.attachment, note.slot, note.generation, note.taken, note.waited_us);
  post(proto::finish(builder, proto::Body::Release, body));
}

void Connection::post(std::span<const uint8_t> bytes) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  unsent_.emplace_back(bytes.begin(), bytes.end());
  flush_locked();
}

bool Connection::flush() {
  const std::lock_guard lock(mutex_);
  return flush_locked();
}

bool Connection::has_ended() {
  const std::lock_guard lock(mutex_);
  if (closed_ || !socket_) return true;
  pollfd end = {socket_.get(), POLLRDHUP, 0};
  return ::poll(&end, 1, 0) > 0;
}

CallOutcome Connection::receive(Deadline deadline) {
  message_ = nullptr;
  for (;;) {  // each turn waits, at most until the deadline
    switch (proto::receive_message(socket_.get(), received_)) {
      case proto::IoStatus::kOk:
        message_ = proto::parse(received_.bytes);
        return message_ ? CallOutcome{} : protocol_failure(*this, "it sent something that is no message");
      case proto::IoStatus::kTooLarge:
        return protocol_failure(*this, "it sent a message that is too large");
      case proto::IoStatus::kClosed:
        return failure(SPDLD_NO_DAEMON, "the daemon at " + path_ + " closed the connection");
      case proto::IoStatus::kFailed:
        return failure(SPDLD_NO_DAEMON,
                       "the connection to the daemon at " + path_ + " failed (" + text_of_errno(errno) + ")");
      case proto::IoStatus::kWouldBlock:
        break;
    }
    if (deadline.passed())
      return failure(SPDLD_TIMEOUT, "the daemon at " + path_ + " sent nothing within the time given");
    flush();
    const auto start = Deadline::Clock::now();
    const Wake wake = wait_for(socket_.get(), POLLIN, deadline.or_earlier(Deadline::after_ms(kFlush_ms)));
    waited_us_ += static_cast<uint64_t>((Deadline::Clock::now() - start) / std::chrono::microseconds(1));
    if (wake == Wake::kSignal) {
      return failure(SPDLD_INTERRUPTED, "interrupted by a signal");
    }
  }
}

void Connection::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  unsent_.clear();
  socket_.reset();
}

CallOutcome protocol_failure(const Connection& connection, const std::string& what) {
  return failure(SPDLD_INTERNAL, "the daemon at " + connection.path() + " broke the protocol: " + what);
}

CallOutcome shuts_down(const Connection& connection, const proto::Goodbye& goodbye) {
  return failure(SPDLD_NO_DAEMON, "the daemon at " + connection.path() + " shuts down: " + said(goodbye.message()));
}

std::string said(const flatbuffers::String* message) { return proto::shown(proto::text_of(message), true); }

}  // namespace spdld::client
