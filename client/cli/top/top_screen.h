// The live view: what was seen last, what the user has chosen, and the rows that a screen of some size shows of it. It
// reads no clock, no keys and no socket, and draws nothing itself. Plain values; one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/top/keys.h"
#include "client/cli/top/lines.h"
#include "client/cli/top/views.h"
#include "config/text/json.h"

namespace spdld::cli::top {

struct Size {
  size_t columns = 80, rows = 24;
};

class TopScreen {
 public:
  // `pipeline`: its view is opened at first; empty: all are shown.
  explicit TopScreen(std::string pipeline = {});

  // The daemon's answer. While the view is paused, it is thrown away.
  void see(config::Json document);
  // The daemon has not answered at `now_s`; what was seen before stays. `why`: a sentence.
  void lose(const std::string& why, double now_s);
  bool is_lost() const { return lost_s_.has_value(); }

  // False: the user wants to leave.
  bool press(Key key);
  // As many rows as the screen has, each as wide as the screen at most. `now_s` never decreases.
  Lines draw(const Size& size, double now_s);

 private:
  enum class Pane : uint8_t { kPipelines, kSessions, kPipeline, kHelp };
  // A list of rows that the user walks through. The marked row is kept while other rows come and go.
  struct Walk {
    std::string key;                 // of the marked row
    size_t at = 0, first = 0;        // the marked row, and the first one on the screen
    std::vector<std::string> shown;  // the keys in their order, as drawn last
    Sort sort;

    void find(std::vector<std::string> keys);  // in these rows
    void fit(size_t room);                     // so that the marked row is on the screen
    void move(ptrdiff_t by);
  };

  bool is_list() const { return pane_ == Pane::kPipelines || pane_ == Pane::kSessions; }
  Walk& walk() { return pane_ == Pane::kSessions ? sessions_ : pipelines_; }
  void move(ptrdiff_t by);
  void move_to(bool is_end);
  void open();
  void back();
  void sort_by(ptrdiff_t by);
  size_t column_count() const;

  void add_notices(Lines& lines, size_t columns, double now_s) const;
  void add_list(Lines& lines, const Sight& sight, const Size& size);
  void add_scrolled(Lines& lines, const Lines& all, const Size& size, const std::string& title);
  Lines panel(const Sight& sight, const Size& size) const;
  Line keys_line(size_t columns) const;

  config::Json document_ = config::Json::object();
  Pane pane_ = Pane::kPipelines, before_ = Pane::kPipelines, before_help_ = Pane::kPipelines;
  Walk pipelines_, sessions_;
  std::string opened_;
  size_t scroll_ = 0, page_ = 10;  // of lines; the rows that the screen had for them
  uint32_t window_s_ = 10;
  bool is_paused_ = false;
  std::optional<double> lost_s_;
  std::string why_lost_;
};

}  // namespace spdld::cli::top
