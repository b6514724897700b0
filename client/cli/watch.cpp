#include "client/cli/watch.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <optional>
#include <sstream>

#include "client/cli/query.h"
#include "client/cli/screen.h"
#include "client/cli/table.h"

namespace spdld::cli {
namespace {

volatile std::sig_atomic_t is_to_end = 0;

// While it lives, SIGINT and SIGTERM end the watching, and SIGWINCH (the terminal has another size) ends a wait. They
// are held back, but for waits and looks, so that they interrupt no writing.
class Signals {
 public:
  Signals() {
    is_to_end = 0;
    for (size_t i = 0; i < kNumbers.size(); i++) {
      struct sigaction action = {};
      action.sa_handler = kNumbers[i] == SIGWINCH ? [](int) {} : [](int) { is_to_end = 1; };
      sigaction(kNumbers[i], &action, &actions_before_[i]);
    }
    sigset_t ours;
    sigemptyset(&ours);
    for (const int number : kNumbers) sigaddset(&ours, number);
    sigprocmask(SIG_BLOCK, &ours, &mask_before_);
  }
  ~Signals() {
    sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
    for (size_t i = 0; i < kNumbers.size(); i++) sigaction(kNumbers[i], &actions_before_[i], nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  bool end_asked() const { return is_to_end != 0; }

  // Until then, or a signal.
  void wait(double seconds) const {
    timespec time{};
    time.tv_sec = static_cast<time_t>(seconds);
    time.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
    ppoll(nullptr, 0, &time, &mask_before_);
  }

  // While it lives, the end may be asked for: a query that waits for its answer is interrupted.
  class Open {
   public:
    Open() { set(SIG_UNBLOCK); }
    ~Open() { set(SIG_BLOCK); }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    static void set(int how) {
      sigset_t ends;
      sigemptyset(&ends);
      sigaddset(&ends, SIGINT);
      sigaddset(&ends, SIGTERM);
      sigprocmask(how, &ends, nullptr);
    }
  };

 private:
  static constexpr std::array<int, 3> kNumbers = {SIGINT, SIGTERM, SIGWINCH};
  std::array<struct sigaction, 3> actions_before_{};
  sigset_t mask_before_{};
};

class Watching {
 public:
  Watching(const Globals& globals, const Look& look, double interval_s)
      : globals_(globals), look_(look), interval_s_(interval_s) {}

  void run() {
    look();
    if (lost_s_ && signals_.end_asked()) return;
    if (lost_s_) throw Failure(*why_lost_);
    for (;;) {
      show();
      const double next_s = now_s() + interval_s_;
      do {  // a signal that ends the wait early may say that the terminal has another size
        signals_.wait(std::max(0.0, next_s - now_s()));
        if (signals_.end_asked()) return end();
        if (on_terminal_ && now_s() < next_s) show();
      } while (now_s() < next_s);
      look();
      if (signals_.end_asked()) return end();
    }
  }

 private:
  double now_s() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count(); }

  void look() {
    const Signals::Open open;
    try {
      view_ = look_(now_s());
      lost_s_.reset(), why_lost_.reset();
    } catch (const Failure& failure) {
      if (!lost_s_ && view_.text && !on_terminal_ && !signals_.end_asked())
        std::fprintf(stderr, "spdlctl: %s\n", failure.what());
      if (!lost_s_) lost_s_ = now_s();
      why_lost_ = failure;
    }
  }

  std::string text(const Page& page) const {
    if (!lost_s_ || signals_.end_asked()) return view_.text(page);
    Facts head;
    head.add("not seen", Cell("for " + text::time_left_text(now_s() - *lost_s_) + ": " + why_lost_->what() +
                                  " Below is what was seen before; another look follows.",
                              Style::kBad));
    return head.text(page) + "\n" + view_.text(page);
  }

  void show() {
    if (on_terminal_) {
      winsize size{};
      const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
      const Page page = page_of_stdout();
      std::ostringstream interval;
      interval << interval_s_;
      const std::string hint = styled("every " + interval.str() + " s; Ctrl-C ends", Style::kDim, page.colour);
      const size_t columns = terminal_columns(STDOUT_FILENO);
      print(screen_.show(hint + "\n" + text(page), columns > 0 ? columns : page.columns, known ? size.ws_row : kRows));
    } else if (lost_s_) {
      return;
    } else if (globals_.json()) {
      print(view_.document.dump() + "\n");
    } else {
      print((shown_ ? "\n" : "") + text(page_of_stdout()));
    }
    shown_ = true;
  }

  void end() {
    if (on_terminal_) print(screen_.end(text(page_of_stdout())));
  }

  static constexpr size_t kRows = 24;

  const Globals& globals_;
  const Look& look_;
  const double interval_s_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  const bool on_terminal_ = isatty(STDOUT_FILENO) == 1 && !globals_.json();
  const Signals signals_;
  View view_;
  std::optional<double> lost_s_;  // since when the looks fail
  std::optional<Failure> why_lost_;
  Screen screen_;
  bool shown_ = false;
};

}  // namespace

ExitCode watch(const Globals& globals, const Look& look, double interval_s) {
  Watching(globals, look, interval_s).run();
  return kFine;
}

}  // namespace spdld::cli
