#include "tests/cuda/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace spdld::test {
namespace {

constexpr int kPatience_ms = 60'000;  // sanitizers are slow; only a hang needs it

// False: nothing came in time.
bool wait_readable(int fd) {
  pollfd polled = {fd, POLLIN, 0};
  int ready = -1;
  do ready = poll(&polled, 1, kPatience_ms);
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

std::string text_of(const std::function<void()>& work) {
  try {
    work();
    return "";
  } catch (const std::exception& reason) {
    return reason.what();
  }
}

}  // namespace

cuda::Fault fault_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const cuda::Fault& fault) {
    return fault;
  }
  return cuda::Fault(cuda::Cause::kFailed, "no fault was thrown");
}

Child::Child(const FakeCuda& fake, const std::function<void()>& work) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  UniqueFd to_read(ends[0]), to_write(ends[1]);
  pid_ = fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ == 0) {
    to_read.reset();
    for (const auto& [name, value] : fake.environment()) setenv(name.c_str(), value.c_str(), 1);
    const std::string text = "end:" + text_of(work);
    const bool is_told = write(to_write.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(is_told ? 0 : 1);  // no destructor of the test's own
  }
  result_ = std::move(to_read);
}

Child::~Child() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::string Child::outcome() {
  std::string text;
  std::array<char, 4096> part;
  ssize_t count = 1;
  while (count > 0) {
    if (!wait_readable(result_.get())) return "the child hangs";
    count = read(result_.get(), part.data(), part.size());
    if (count > 0) text.append(part.data(), static_cast<size_t>(count));
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  if (text.rfind("end:", 0) != 0) return "the child ended early, with status " + std::to_string(status);
  return text.substr(4);
}

std::string in_child(const FakeCuda& fake, const std::function<void()>& work) { return Child(fake, work).outcome(); }

void Link::send(std::span<const uint8_t> bytes, std::span<const int> fds) const {
  if (proto::send_message(end.get(), bytes, fds) != proto::IoStatus::kOk) throw std::runtime_error("can't send");
}

proto::Received Link::receive() const {
  if (!wait_readable(end.get())) throw std::runtime_error("nothing came from the other process");
  proto::Received received;
  if (proto::receive_message(end.get(), received) != proto::IoStatus::kOk) throw std::runtime_error("can't receive");
  return received;
}

Links::Links() {
  auto [first, second] = proto::socket_pair();
  one.end = std::move(first);
  other.end = std::move(second);
}

}  // namespace spdld::test
