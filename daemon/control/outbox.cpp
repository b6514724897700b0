#include "daemon/control/outbox.h"

#include <fcntl.h>

namespace spdld::control {

using proto::IoStatus;

bool Outbox::send(std::span<const uint8_t> bytes, std::span<const int> fds) {
  if (waiting_.empty()) {
    const IoStatus status = proto::send_message(socket_, bytes, fds);
    if (status == IoStatus::kOk) return true;
    if (status != IoStatus::kWouldBlock) return false;
  }
  if (waiting_.size() >= kMessagesMax || waiting_fds_ + fds.size() > kFdsMax) return false;
  Waiting later{{bytes.begin(), bytes.end()}, {}};
  for (int fd : fds) {
    later.fds.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!later.fds.back()) return false;
  }
  waiting_fds_ += fds.size();
  waiting_.push_back(std::move(later));
  return true;
}

bool Outbox::flush() {
  while (!waiting_.empty()) {
    std::vector<int> fds;
    for (const auto& fd : waiting_.front().fds) fds.push_back(fd.get());
    const IoStatus status = proto::send_message(socket_, waiting_.front().bytes, fds);
    if (status == IoStatus::kWouldBlock) return true;
    if (status != IoStatus::kOk) return false;
    waiting_fds_ -= fds.size();
    waiting_.pop_front();
  }
  return true;
}

}  // namespace spdld::control
