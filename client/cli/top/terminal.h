// The terminal, by ncurses: the only place that includes it. One thread, the same that holds the signals back
// (signals.h), since ncurses sets handlers of its own.
#pragma once

#include <memory>
#include <optional>

#include "client/cli/top/keys.h"
#include "client/cli/top/lines.h"
#include "client/cli/top/top_screen.h"

namespace spdld::cli::top {

// Whether this program was built with ncurses.
bool has_terminal();

// While it lives, the terminal shows the drawn lines, and its keys come one by one. The terminal is as it was before
// when the object goes.
class Terminal {
 public:
  // Precondition: stdin and stdout are a terminal. Throws Failure where the terminal is not known or cannot move its
  // cursor, and where this program was built without ncurses.
  explicit Terminal(bool has_colour);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  Size size() const;
  void draw(const Lines& lines);
  // The next key that was pressed; none: no more.
  std::optional<Key> key();
  // The terminal has another size now, or somebody else has drawn on it: all is drawn anew.
  void renew();
  // Gives the terminal back, and stops the process until it is continued.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spdld::cli::top
