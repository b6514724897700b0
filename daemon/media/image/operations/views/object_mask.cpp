#include "daemon/media/image/operations/views/object_mask.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace spdld::image {
namespace {

constexpr double kScale = 5;       // points for each pixel along the sides of a polygon
constexpr double kPlaceMax = 1e8;  // of a corner, in pixels
constexpr size_t kNumbersMin = 6;  // of three corners
constexpr int kGroupsMax = 6;      // of five bits, in a packed run

Error bad(std::string clause) { return {Trouble::kContent, std::move(clause)}; }

constexpr uint64_t kPointWork = 4;  // of a point on a side, beside a pixel that is drawn

int fixed_point(double place) { return static_cast<int>(kScale * place + .5); }

// Between the points of a polygon's side, in fifths of a pixel along its longer direction.
int steps_of(const std::pair<int, int>& from, const std::pair<int, int>& to) {
  return std::max(std::abs(to.first - from.first), std::abs(to.second - from.second));
}

// The signed number that begins at packed[at], which moves behind it.
Result<int64_t> unpacked(std::string_view packed, size_t& at) {
  int64_t number = 0;
  for (int group = 0; group < kGroupsMax && at < packed.size(); ++group) {
    const int bits = packed[at++] - '0';
    if (bits < 0 || bits > 0x3f) return bad("its counts have a character that stands for no bits");
    number |= static_cast<int64_t>(bits & 0x1f) << (5 * group);
    if ((bits & 0x20) != 0) continue;
    if ((bits & 0x10) != 0) number -= int64_t{1} << (5 * (group + 1));
    return number;
  }
  return bad("its counts end within a number, or have a number that is too large");
}

}  // namespace

void ObjectMask::open(const Size& picture) {
  size_ = picture;
  work_ = 0;
  std::memset(pixels_.resize(pixels()), 0, pixels());
  top_ = bottom_ = 0;
}

void ObjectMask::begin() {
  if (top_ < bottom_) std::memset(pixels_.data() + at(0, top_), 0, at(0, bottom_) - at(0, top_));
  top_ = size_.height;
  bottom_ = 0;
}

void ObjectMask::shrink(size_t bytes_max) {
  pixels_.shrink(bytes_max);
  for (auto* numbers : {&crossings_, &runs_})
    if (numbers->capacity() * sizeof(uint32_t) > bytes_max) std::vector<uint32_t>().swap(*numbers);
}

Status ObjectMask::spend(uint64_t work) {
  work_ += work;
  if (work_ <= kWorkMax) return Done{};
  return bad("it and the objects before it are too large to be drawn");
}

Status ObjectMask::fill(uint64_t first, uint64_t end) {
  if (first >= end) return Done{};
  if (const Status spent = spend(end - first); !spent) return spent;
  const auto height = static_cast<uint64_t>(size_.height);
  while (first < end) {
    const int x = static_cast<int>(first / height), y = static_cast<int>(first % height);
    const uint64_t count = std::min(end - first, height - static_cast<uint64_t>(y));
    uint8_t* pixel = pixels_.data() + at(x, y);
    for (uint64_t i = 0; i < count; ++i, pixel += size_.width) *pixel = 1;
    top_ = std::min(top_, y);
    bottom_ = std::max(bottom_, y + static_cast<int>(count));
    first += count;
  }
  return Done{};
}

// --- polygons ---

void ObjectMask::visit(int x, int y) {
  if (has_last_ && x != last_.first) {
    const double across = ((x < last_.first ? x : x - 1) + .5) / kScale - .5;
    if (std::floor(across) == across && across >= 0 && across <= size_.width - 1) {
      const double down = std::clamp((std::min(y, last_.second) + .5) / kScale - .5, 0.0, double{1} * size_.height);
      crossings_.push_back(static_cast<uint32_t>(across) * static_cast<uint32_t>(size_.height) +
                           static_cast<uint32_t>(std::ceil(down)));
    }
  }
  last_ = {x, y};
  has_last_ = true;
}

// Both directions of a side give the same points.
void ObjectMask::trace(std::pair<int, int> from, std::pair<int, int> to) {
  const int across = std::abs(to.first - from.first), down = std::abs(to.second - from.second);
  const bool is_flat = across >= down;
  const bool turns = is_flat ? from.first > to.first : from.second > to.second;
  if (turns) std::swap(from, to);
  const int steps = steps_of(from, to);
  if (steps == 0) return visit(from.first, from.second);
  const double slope = is_flat ? static_cast<double>(to.second - from.second) / across
                               : static_cast<double>(to.first - from.first) / down;
  for (int step = 0; step <= steps; ++step) {
    const int i = turns ? steps - step : step;
    if (is_flat)
      visit(i + from.first, static_cast<int>(from.second + slope * i + .5));
    else
      visit(static_cast<int>(from.first + slope * i + .5), i + from.second);
  }
}

Status ObjectMask::add_polygon(std::span<const double> corners) {
  if (corners.size() < kNumbersMin || corners.size() % 2 != 0)
    return bad("a polygon of it has " + std::to_string(corners.size()) +
               " numbers: it must have two for each corner, and three corners or more");
  for (const double place : corners)
    if (!(std::abs(place) <= kPlaceMax)) return bad("a polygon of it has a corner that is too far away");
  const size_t count = corners.size() / 2;
  const auto corner = [&](size_t i) {
    const size_t at = 2 * (i % count);
    return std::pair(fixed_point(corners[at]), fixed_point(corners[at + 1]));
  };
  crossings_.clear();
  has_last_ = false;
  uint64_t points = 0;
  for (size_t i = 0; i < count; ++i) points += static_cast<uint64_t>(steps_of(corner(i), corner(i + 1))) + 1;
  if (const Status spent = spend(kPointWork * points); !spent) return spent;
  for (size_t i = 0; i < count; ++i) trace(corner(i), corner(i + 1));
  std::sort(crossings_.begin(), crossings_.end());
  if (crossings_.size() % 2 != 0) crossings_.push_back(static_cast<uint32_t>(pixels()));
  for (size_t i = 0; i < crossings_.size(); i += 2)
    if (const Status filled = fill(crossings_[i], crossings_[i + 1]); !filled) return filled;
  return Done{};
}

// --- run lengths ---

Status ObjectMask::add_runs(std::span<const uint32_t> runs) {
  uint64_t sum = 0;
  for (const uint32_t run : runs) sum += run;
  if (sum != pixels())
    return bad("its counts are " + std::to_string(sum) + " pixels together, and the picture has " +
               std::to_string(pixels()));
  uint64_t at = 0;
  for (size_t i = 0; i < runs.size(); at += runs[i++]) {
    if (i % 2 == 0) continue;
    if (const Status filled = fill(at, at + runs[i]); !filled) return filled;
  }
  return Done{};
}

// From the fourth number on, each is the difference to the number that is two before it.
Status ObjectMask::add_packed_runs(std::string_view packed) {
  runs_.clear();
  for (size_t at = 0; at < packed.size();) {
    const Result<int64_t> number = unpacked(packed, at);
    if (!number) return number.error();
    const int64_t run = *number + (runs_.size() > 2 ? int64_t{runs_[runs_.size() - 2]} : 0);
    if (run < 0 || static_cast<uint64_t>(run) > pixels())
      return bad("its counts have a run of " + std::to_string(run) + " pixels, and the picture has " +
                 std::to_string(pixels()));
    runs_.push_back(static_cast<uint32_t>(run));
  }
  return add_runs(runs_);
}

}  // namespace spdld::image
