#include "client/cli/state/watch.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <sstream>

#include "client/cli/query.h"
#include "client/cli/signals.h"
#include "client/cli/state/screen.h"
#include "client/cli/table.h"

namespace spdld::cli {
namespace {

class Watching {
 public:
  Watching(const Globals& globals, const Look& look, const Pace& pace) : globals_(globals), look_(look), pace_(pace) {}

  void run() {
    look();
    if (lost_s_ && signals_.end_asked()) return;
    if (lost_s_) throw Failure(*why_lost_);
    for (uint64_t looks = 1;; looks++) {
      show();
      if (looks == pace_.looks) return end();
      const double next_s = now_s() + pace_.interval_s;
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
      lost_s_.reset();
      why_lost_.reset();
    } catch (const Failure& failure) {
      if (!lost_s_ && view_.text && !on_terminal_ && !signals_.end_asked())
        std::fprintf(stderr, "spdlctl: %s\n", safe_lines(failure.what()).c_str());
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
      interval << pace_.interval_s;
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
  const Pace pace_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  const bool on_terminal_ = isatty(STDOUT_FILENO) == 1 && !globals_.json() && !pace_.is_plain;
  const Signals signals_;
  View view_;
  std::optional<double> lost_s_;  // since when the looks fail
  std::optional<Failure> why_lost_;
  Screen screen_;
  bool shown_ = false;
};

}  // namespace

ExitCode watch(const Globals& globals, const Look& look, const Pace& pace) {
  Watching(globals, look, pace).run();
  return kFine;
}

void declare_watching(config::Arguments& command, WatchWishes& wishes, const char* watch_help,
                      const char* interval_help) {
  command.flag("-w,--watch", wishes.watch, watch_help);
  command.number("--interval", wishes.interval_s, kIntervalMinS, kIntervalMaxS, "S", interval_help);
}

ExitCode show_or_watch(const Globals& globals, const Look& look, const WatchWishes& wishes, double interval_s) {
  if (wishes.interval_s && !wishes.watch) throw Failure(kUsage, "--interval belongs to --watch: give both.");
  if (wishes.watch) return watch(globals, look, {wishes.interval_s.value_or(interval_s)});
  const View view = look(0);
  if (globals.json()) {
    print_json(view.document);
  } else {
    print(view.text(page_of_stdout()));
  }
  return kFine;
}

}  // namespace spdld::cli
