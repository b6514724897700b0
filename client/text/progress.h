// How far work has come: a rate over the last seconds, and one line on a terminal that is drawn anew in its place.
// Neither class reads a clock or writes: the caller gives the time, and writes the text that it gets. Plain values; one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace spdld::text {

// Events in a second, over the last `kWindowS` seconds.
class Rate {
 public:
  static constexpr double kWindowS = 10;
  static constexpr double kJudgedFromS = 0.5;  // before, there is no rate

  // `count`: all events so far. A count that is smaller than the last one begins anew.
  void note(double now_s, uint64_t count);
  std::optional<double> per_s() const;
  // Seconds until `total` is reached. None: not known.
  std::optional<double> left_s(uint64_t total) const;

 private:
  struct Point {
    double at_s;
    uint64_t count;
  };
  static constexpr double kApartS = 0.2;  // between points that are kept, so that their number is bounded

  std::deque<Point> points_;  // the oldest first
};

// One state of the work.
struct Progress {
  std::string what;         // "listing"
  uint64_t done = 0;        // so far
  uint64_t total = 0;       // 0, or below `done`: not known
  std::string unit;         // what done and total count, as plural: "pictures"
  bool in_bytes = false;    // they count bytes; then unit is "of archives", say, or empty
  uint64_t made = 0;        // a count that tells the speed better than `done`, where there is one
  std::string made_unit{};  // "images"
};

// Reads the names on the wire: "listing pictures" counts pictures, and "listing bytes of archives" counts bytes.
Progress progress_of(std::string_view what, uint64_t done, uint64_t total);

// The speed of the work. None: not known yet.
struct Speed {
  std::optional<double> per_s;   // of made_unit where there is one, else of done
  std::optional<double> left_s;  // until total is reached
};

// "listing 34.2 GiB of 1.2 TiB of archives 2 % 2.1 GiB/s 9 min 12 s left". Where the columns are fewer, the total ("of
// 1.2 TiB") is left out first, then parts from the end. Where nothing is counted, `elapsed_s` stands in place of the
// figures.
std::string progress_text(const Progress& progress, const Speed& speed, double elapsed_s, size_t columns);

class ProgressLine {
 public:
  static constexpr double kQuietS = 1;    // from the first show(): short work draws nothing
  static constexpr double kApartS = 0.1;  // between two drawings, except where the work has changed

  // `head` begins every line, as "spdld: ".
  explicit ProgressLine(std::string head = {}) : head_(std::move(head)) {}

  // The text that the caller writes to its terminal of `columns` columns; often empty. `now_s` never decreases.
  std::string show(const Progress& progress, double now_s, size_t columns);
  // The text that empties the line again, and leaves the cursor at its beginning. The next show() draws again.
  std::string clear();

 private:
  std::string head_;
  Progress last_;
  Rate done_, made_;
  std::optional<double> begun_s_, drawn_s_;
  double changed_s_ = 0;  // when this work began, after other work
  size_t width_ = 0;      // of the text on the line
};

}  // namespace spdld::text
