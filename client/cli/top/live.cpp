#include "client/cli/top/live.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

#include "client/cli/top/signals.h"
#include "client/cli/top/terminal.h"
#include "client/cli/top/top_screen.h"

namespace spdld::cli::top {
namespace {

constexpr int kClockMs = 1000;  // how often the time without an answer is drawn anew

class Live {
 public:
  Live(config::Json first, Looker::Ask ask, const std::string& pipeline, double interval_s, bool has_colour)
      : screen_(pipeline), looker_(std::move(ask), interval_s), terminal_(has_colour) {
    screen_.see(std::move(first));
  }

  void run() {
    do terminal_.draw(screen_.draw(terminal_.size(), now_s()));
    while (wait() && take_signals() && take_keys() && take_answer());
  }

 private:
  double now_s() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count(); }

  // Until something has happened. False: the terminal has gone.
  bool wait() {
    std::array<pollfd, 3> files = {{{STDIN_FILENO, POLLIN, 0}, {signals_.fd(), POLLIN, 0}, {looker_.fd(), POLLIN, 0}}};
    if (poll(files.data(), files.size(), screen_.is_lost() ? kClockMs : -1) < 0) return true;  // a signal
    return (files[0].revents & (POLLHUP | POLLERR | POLLNVAL)) == 0;
  }

  bool take_signals() {
    const HeldSignals::Told told = signals_.read();
    if (told.is_to_end) return false;
    if (told.is_to_stop) terminal_.stop();
    if (told.is_to_renew) terminal_.renew();
    return true;
  }

  bool take_keys() {
    while (const auto key = terminal_.key()) {
      if (*key == Key::kRedraw) terminal_.renew();
      if (!screen_.press(*key)) return false;
    }
    return true;
  }

  bool take_answer() {
    auto answer = looker_.take();
    if (!answer) return true;
    if (answer->document) {
      screen_.see(std::move(*answer->document));
    } else {
      screen_.lose(answer->why, now_s());
    }
    return true;
  }

  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  TopScreen screen_;
  HeldSignals signals_;  // before the looker starts its thread
  Looker looker_;
  Terminal terminal_;  // the first to go, so that the terminal is as before while a look is ended
};

}  // namespace

void show_live(config::Json first, Looker::Ask ask, const std::string& pipeline, double interval_s, bool has_colour) {
  Live(std::move(first), std::move(ask), pipeline, interval_s, has_colour).run();
}

}  // namespace spdld::cli::top
