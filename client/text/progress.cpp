#include "client/text/progress.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "client/text/numbers.h"

namespace spdld::text {
namespace {

constexpr std::string_view kBytes = "bytes";
constexpr size_t kColumnsMin = 20;  // narrower terminals get a line of that width

bool is_whole_known(const Progress& progress) { return progress.total != 0 && progress.total >= progress.done; }

std::string amount(const Progress& progress, bool with_total) {
  const auto text = [&](uint64_t count) {
    return progress.in_bytes ? bytes_text(static_cast<double>(count)) : count_text(count);
  };
  return text(progress.done) + (with_total ? " of " + text(progress.total) : "") +
         (progress.unit.empty() ? "" : " " + progress.unit);
}

std::string speed_text(const Progress& progress, double per_s) {
  if (!progress.made_unit.empty()) return rate_text(per_s) + " " + progress.made_unit + "/s";
  return (progress.in_bytes ? bytes_text(per_s) : rate_text(per_s)) + "/s";
}

}  // namespace

void Rate::note(double now_s, uint64_t count) {
  if (!points_.empty() && count < points_.back().count) points_.clear();
  // The newest point follows the count until it is old enough to stay.
  if (points_.size() > 1 && now_s - points_[points_.size() - 2].at_s < kApartS) points_.pop_back();
  points_.push_back({now_s, count});
  while (points_.size() > 2 && now_s - points_[1].at_s >= kWindowS) points_.pop_front();
}

std::optional<double> Rate::per_s() const {
  if (points_.empty()) return std::nullopt;
  const double seconds = points_.back().at_s - points_.front().at_s;
  if (seconds < kJudgedFromS) return std::nullopt;
  return static_cast<double>(points_.back().count - points_.front().count) / seconds;
}

std::optional<double> Rate::left_s(uint64_t total) const {
  const auto rate = per_s();
  if (!rate || *rate <= 0 || total < points_.back().count) return std::nullopt;
  return static_cast<double>(total - points_.back().count) / *rate;
}

Progress progress_of(std::string_view what, uint64_t done, uint64_t total) {
  Progress progress;
  const size_t verb = what.find(' ');
  const bool counts = done != 0 || total != 0;
  if (verb == std::string_view::npos || !counts) {
    progress.what = what;
    return progress;
  }
  progress.what = what.substr(0, verb);
  progress.done = done;
  progress.total = total;
  std::string_view unit = what.substr(verb + 1);
  progress.in_bytes = unit.substr(0, kBytes.size()) == kBytes;
  if (progress.in_bytes) {
    unit.remove_prefix(kBytes.size());
    unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  }
  progress.unit = unit;
  return progress;
}

std::string progress_text(const Progress& progress, const Speed& speed, double elapsed_s, size_t columns) {
  std::vector<std::string> parts;
  std::string start = progress.what;
  if (progress.unit.empty() && !progress.in_bytes) {
    if (elapsed_s >= 1) parts.push_back(duration_text(elapsed_s));
  } else {
    const bool known = is_whole_known(progress);
    if (known) parts.push_back(percent_done_text(progress.done, progress.total));
    if (speed.per_s) parts.push_back(speed_text(progress, *speed.per_s));
    if (known && speed.left_s && progress.done < progress.total)
      parts.push_back(time_left_text(*speed.left_s) + " left");
    size_t width = 0;
    for (const auto& part : parts) width += 2 + display_width(part);
    const std::string before = start.empty() ? "" : start + " ";
    start = before + amount(progress, known);
    // The percent says it shorter.
    if (display_width(start) + width > columns) start = before + amount(progress, false);
    if (known && display_width(start) + width > columns && !progress.what.empty()) start = progress.what;
  }
  std::string line = start;
  for (const auto& part : parts)
    if (display_width(line) + 2 + display_width(part) <= columns) line += "  " + part;
  while (display_width(line) > columns) line.pop_back();
  return line;
}

std::string ProgressLine::show(const Progress& progress, double now_s, size_t columns) {
  const bool first = !begun_s_;
  if (first) begun_s_ = now_s;
  // A new epoch is the same work; what counts nothing has its words alone.
  const bool other = first || progress.unit != last_.unit || (progress.unit.empty() && progress.what != last_.what);
  if (other) {
    done_ = made_ = Rate();
    changed_s_ = now_s;
  }
  last_ = progress;
  done_.note(now_s, progress.done);
  made_.note(now_s, progress.made);
  if (now_s - *begun_s_ < kQuietS) return "";
  if (drawn_s_ && !other && now_s - *drawn_s_ < kApartS) return "";
  drawn_s_ = now_s;
  // One column stays free: a full line would take the cursor to the next one.
  const size_t room = std::max(columns, kColumnsMin) - 1;
  std::string line = head_;
  const Speed speed{progress.made_unit.empty() ? done_.per_s() : made_.per_s(), done_.left_s(progress.total)};
  line += progress_text(progress, speed, now_s - changed_s_, room - std::min(room, display_width(head_)));
  const size_t width = display_width(line);
  const size_t left_over = width_ > width ? width_ - width : 0;
  width_ = width;
  return "\r" + line + std::string(left_over, ' ') + std::string(left_over, '\b');
}

std::string ProgressLine::clear() {
  drawn_s_.reset();
  const size_t width = std::exchange(width_, 0);
  return width == 0 ? "" : "\r" + std::string(width, ' ') + "\r";
}

}  // namespace spdld::text
