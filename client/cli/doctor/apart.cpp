#include "client/cli/doctor/apart.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <exception>
#include <memory>
#include <span>
#include <utility>

#include "proto/unique_fd.h"

namespace spdld::cli::doctor {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void be_child(const Work& work, int fd) {
  std::string answer;
  int code = 0;
  try {
    answer = work();
  } catch (const std::exception&) {
    code = 1;
  }
  for (size_t at = 0; at < answer.size();) {
    const ssize_t written = write(fd, answer.data() + at, answer.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(1);
    at += static_cast<size_t>(written);
  }
  _exit(code);
}

class Child {
 public:
  explicit Child(const Work& work) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
    fd_.reset(ends[0]);
    const UniqueFd other(ends[1]);
    pid_ = fork();
    if (pid_ == 0) be_child(work, other.get());
    if (pid_ < 0) fd_.reset();
  }
  // A child that hangs in the kernel can't be ended, and is not waited for.
  ~Child() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, WNOHANG);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool is_at_work() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }

  void read_on() {
    std::array<char, 4096> bytes{};
    const ssize_t size = read(fd_.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) return;
    if (size > 0) {
      text_.append(bytes.data(), std::min(static_cast<size_t>(size), kAnswerBytesMax - text_.size()));
      return;
    }
    int status = 0;
    fd_.reset();
    if (waitpid(std::exchange(pid_, -1), &status, 0) > 0) is_done_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

  std::optional<std::string> answer() const { return is_done_ ? std::optional(text_) : std::nullopt; }

 private:
  pid_t pid_ = -1;
  UniqueFd fd_;
  std::string text_;
  bool is_done_ = false;
};

void do_some(std::span<const Work> works, double limit_s, std::vector<std::optional<std::string>>& answers) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_s));
  std::vector<std::unique_ptr<Child>> children;
  for (const Work& work : works) children.push_back(std::make_unique<Child>(work));
  for (;;) {
    std::vector<pollfd> waiting;
    for (const auto& child : children) waiting.push_back({child->fd(), POLLIN, 0});  // poll leaves out -1
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    const bool is_over = std::none_of(children.begin(), children.end(), [](const auto& c) { return c->is_at_work(); });
    if (left <= 0 || is_over) break;
    if (poll(waiting.data(), waiting.size(), static_cast<int>(left)) < 0 && errno != EINTR) break;
    for (size_t i = 0; i < waiting.size(); i++)
      if (waiting[i].revents != 0) children[i]->read_on();
  }
  for (const auto& child : children) answers.push_back(child->answer());
}

}  // namespace

std::vector<std::optional<std::string>> do_apart(const std::vector<Work>& works, double limit_s) {
  std::vector<std::optional<std::string>> answers;
  const std::span<const Work> all(works);
  for (size_t at = 0; at < all.size(); at += kAtOnceMax)
    do_some(all.subspan(at, std::min(kAtOnceMax, all.size() - at)), limit_s, answers);
  return answers;
}

}  // namespace spdld::cli::doctor
