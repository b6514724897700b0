#include "client/cli/show/show_card.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "client/cli/format.h"
#include "client/cli/show/show_values.h"
#include "client/sheet/marks.h"

namespace spdld::cli {
namespace {

using sheet::Canvas;
using sheet::Colour;
using sheet::colour_of;

constexpr int64_t kRowsMax = 1000;   // of boxes, points or masks of a sample
constexpr int64_t kPiecesMax = 64;   // pictures of an output
constexpr size_t kClassesShown = 3;  // of a label that is spread over several
constexpr size_t kPictureDimensions = 3;
constexpr uint32_t kIgnored = 255;  // a value that masks often have where no class is told
constexpr Colour kUntold{255, 255, 255};

// A number of an element as a whole number. Numbers of 64 bits may be beyond what a double holds exactly.
int64_t whole_of(double number) {
  constexpr double kMost = 9e18;
  return static_cast<int64_t>(std::clamp(number, -kMost, kMost));
}

// The pictures of an output, in their order: one, several ones, or the frames of clips.
void list_pictures(const Values& all, config::Layout layout, std::vector<Values>& pictures) {
  const size_t dimensions = all.shape().size();
  if (dimensions == kPictureDimensions) {
    if (std::ssize(pictures) < kPiecesMax) pictures.push_back(all);
    return;
  }
  const bool has_frames_second = layout == config::Layout::kNcthw && dimensions == kPictureDimensions + 1;
  const size_t dimension = has_frames_second ? 1 : 0;
  for (int64_t i = 0; i < std::min(all.shape()[dimension], kPiecesMax); ++i)
    list_pictures(all.row(i, dimension), layout, pictures);
}

// Black and white of a picture: value * factor + offset is 0 and 1.
struct Range {
  double least = 0, most = 1;
};

// A picture's tensor, read by row, column and channel.
class Pixels {
 public:
  Pixels(const Values& values, const ShownOutput& shown) : values_(values), shown_(shown) {
    const bool is_first = shown.layout != config::Layout::kNhwc;
    const auto& shape = values.shape();
    channels_ = shape[is_first ? 0 : 2];
    height_ = shape[is_first ? 1 : 0];
    width_ = shape[is_first ? 2 : 1];
    bottom_ = height_;
    right_ = width_;
    if (shown.is_stretched && shown.is_before) leave_border_out();
    if (shown.is_stretched) range_ = range();
  }

  Canvas canvas() const {
    if (width_ > sheet::kSideMax || height_ > sheet::kSideMax)
      throw std::length_error("output " + shown_.name + " has pictures of too many pixels to be drawn");
    Canvas canvas(static_cast<int>(width_), static_cast<int>(height_));
    for (int y = 0; y < canvas.height(); ++y)
      for (int x = 0; x < canvas.width(); ++x) canvas.set(x, y, colour(y, x));
    return canvas;
  }

 private:
  double value(int64_t y, int64_t x, int64_t channel) const {
    const double raw =
        shown_.layout != config::Layout::kNhwc ? values_.at({channel, y, x}) : values_.at({y, x, channel});
    const auto of = [&](const std::vector<double>& numbers) {
      return numbers[std::min(static_cast<size_t>(channel), numbers.size() - 1)];
    };
    return raw * of(shown_.factors) + of(shown_.offsets);
  }

  // The border that was put around the picture has zeros alone: it has no part in the range, and is no part of the
  // picture.
  void leave_border_out() {
    const auto has_values = [&](int64_t top, int64_t bottom, int64_t left, int64_t right) {
      for (int64_t y = top; y < bottom; ++y)
        for (int64_t x = left; x < right; ++x)
          if (value(y, x, 0) != 0) return true;
      return false;
    };
    while (top_ + 1 < bottom_ && !has_values(top_, top_ + 1, left_, right_)) top_++;
    while (top_ + 1 < bottom_ && !has_values(bottom_ - 1, bottom_, left_, right_)) bottom_--;
    while (left_ + 1 < right_ && !has_values(top_, bottom_, left_, left_ + 1)) left_++;
    while (left_ + 1 < right_ && !has_values(top_, bottom_, right_ - 1, right_)) right_--;
  }

  Range range() const {
    Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
    for (int64_t y = top_; y < bottom_; ++y) {
      for (int64_t x = left_; x < right_; ++x) {
        for (int64_t channel = 0; channel < channels_; ++channel) {
          const double now = value(y, x, channel);
          if (std::isfinite(now)) {
            range.least = std::min(range.least, now);
            range.most = std::max(range.most, now);
          }
        }
      }
    }
    return range.most > range.least ? range : Range();
  }

  uint8_t shade(int64_t y, int64_t x, int64_t channel) const {
    const double part = (value(y, x, channel) - range_.least) / (range_.most - range_.least);
    return part > 0 ? static_cast<uint8_t>(std::lround(std::min(part, 1.0) * 255)) : uint8_t{0};
  }

  Colour colour(int64_t y, int64_t x) const {
    if (y < top_ || y >= bottom_ || x < left_ || x >= right_) return sheet::kPaper;
    if (channels_ < 3) return {shade(y, x, 0), shade(y, x, 0), shade(y, x, 0)};
    const Colour colour{shade(y, x, 0), shade(y, x, 1), shade(y, x, 2)};
    return channels_ == 4 ? mixed(sheet::kPaper, colour, shade(y, x, 3) / 255.0) : colour;
  }

  const Values& values_;
  const ShownOutput& shown_;
  int64_t channels_ = 0, height_ = 0, width_ = 0;
  int64_t top_ = 0, bottom_ = 0, left_ = 0, right_ = 0;  // what is drawn of it
  Range range_;
};

sheet::Box box_of(const Values& boxes, int64_t row, const std::string& format) {
  const double a = boxes.at({row, 0}), b = boxes.at({row, 1}), c = boxes.at({row, 2}), d = boxes.at({row, 3});
  if (format == "xywh") return {a, b, a + c, b + d, {}};
  if (format == "cxcywh") return {a - c / 2, b - d / 2, a + c / 2, b + d / 2, {}};
  return {a, b, c, d, {}};
}

class Sample {
 public:
  Sample(const Batch& batch, uint64_t sample, const std::vector<ShownOutput>& outputs, const Pen& pen)
      : batch_(batch), sample_(sample), outputs_(outputs), pen_(pen) {}

  sheet::Card card() {
    sheet::Card card;
    card.title = "sample " + std::to_string(whole_of(values("sample_id").element(0)));
    for (const ShownOutput& shown : outputs_) {
      if (shown.as == ShownAs::kPicture && is_drawn(shown))
        add_pictures(shown, card);
      else if (!shown.is_before && !is_in_pictures(shown))
        card.lines.push_back(safe_text(shown.name + ": " + words(shown)));
    }
    return card;
  }

 private:
  Values values(const std::string& name) const { return {batch_, name, sample_}; }

  // A picture, several ones of one size, or several clips of these.
  bool is_drawn(const ShownOutput& shown) const {
    const size_t dimensions = values(shown.name).shape().size();
    return dimensions >= kPictureDimensions && dimensions <= kPictureDimensions + 2;
  }

  // Whether the pictures show all of it.
  bool is_in_pictures(const ShownOutput& shown) const {
    if (shown.as == ShownAs::kRowsOf) return labels_of(shown.of) == &shown;
    return shown.as == ShownAs::kMask || shown.as == ShownAs::kObjectMasks || shown.as == ShownAs::kPoints;
  }

  void add_pictures(const ShownOutput& shown, sheet::Card& card) {
    std::vector<Values> pictures;
    list_pictures(values(shown.name), shown.layout, pictures);
    const sheet::Marks marks = shown.view.empty() ? sheet::Marks() : marks_of(shown.view);
    for (size_t i = 0; i < pictures.size(); ++i) {
      const Values& one = pictures[i];
      if (one.size() == 0) continue;
      const std::string title = pictures.size() == 1 ? shown.title : shown.title + " " + std::to_string(i + 1);
      Canvas picture = drawn(Pixels(one, shown).canvas(), marks, pen_.side);
      card.tiles.push_back({safe_text(title), shown.is_before ? trimmed(picture, sheet::kPaper) : std::move(picture)});
    }
  }

  std::string class_name(double number) const {
    if (number >= 0 && number < static_cast<double>(pen_.classes.size()))
      return pen_.classes[static_cast<size_t>(number)];
    return std::to_string(whole_of(number));
  }

  // The list of numbers that says what the rows of `of` are; nullptr: there is none.
  const ShownOutput* labels_of(const std::string& of) const {
    const ShownOutput* found = nullptr;
    for (const ShownOutput& shown : outputs_) {
      if (shown.as != ShownAs::kRowsOf || shown.of != of || of.empty()) continue;
      const Values labels = values(shown.name);
      if (labels.shape().size() != 1 || !labels.is_integer()) continue;
      if (found == nullptr || (shown.is_class && !found->is_class)) found = &shown;
    }
    return found;
  }

  // The colour and the name of each row of an output with `rows` rows.
  struct Legend {
    std::vector<Colour> colours;
    std::vector<std::string> names;
  };
  Legend legend_of(const std::string& of, int64_t rows) const {
    Legend legend;
    const ShownOutput* const labels = labels_of(of);
    for (int64_t row = 0; row < rows; ++row) {
      auto colour = static_cast<uint64_t>(row);
      std::string name;
      if (labels != nullptr && row < values(labels->name).shape()[0]) {
        const double label = values(labels->name).element(row);
        if (label >= 0) colour = static_cast<uint64_t>(whole_of(label));
        name = labels->is_class ? class_name(label) : std::to_string(whole_of(label));
      }
      legend.colours.push_back(colour_of(colour));
      legend.names.push_back(safe_text(name));
    }
    return legend;
  }

  sheet::Marks marks_of(const std::string& view) const {
    sheet::Marks marks;
    for (const ShownOutput& shown : outputs_) {
      if (shown.view != view) continue;
      if (shown.as == ShownAs::kBoxes) add_boxes(shown, marks);
      if (shown.as == ShownAs::kPoints) add_points(shown, marks);
      if (shown.as == ShownAs::kObjectMasks) add_objects(shown, marks);
      if (shown.as == ShownAs::kMask) add_mask(values(shown.name), all_colours(), marks);
    }
    return marks;
  }

  void add_boxes(const ShownOutput& shown, sheet::Marks& marks) const {
    const Values boxes = values(shown.name);
    const int64_t rows = std::min(boxes.shape()[0], kRowsMax);
    Legend legend = legend_of(shown.name, rows);
    for (int64_t row = 0; row < rows; ++row) {
      const auto place = static_cast<size_t>(row);
      sheet::Box box = box_of(boxes, row, shown.format);
      box.colour = legend.colours[place];
      if (pen_.has_room) box.label = std::move(legend.names[place]);
      marks.boxes.push_back(std::move(box));
    }
  }

  void add_points(const ShownOutput& shown, sheet::Marks& marks) const {
    const Values points = values(shown.name);
    const int64_t rows = std::min(points.shape()[0], kRowsMax);
    const Legend legend = legend_of(shown.name, rows);
    for (int64_t row = 0; row < rows; ++row)
      marks.dots.push_back({points.at({row, 0}), points.at({row, 1}), legend.colours[static_cast<size_t>(row)]});
  }

  void add_objects(const ShownOutput& shown, sheet::Marks& marks) const {
    const Values masks = values(shown.name);
    const int64_t rows = std::min(masks.shape()[0], kRowsMax);
    const Legend legend = legend_of(shown.of, rows);
    for (int64_t row = 0; row < rows; ++row)
      add_mask(masks.row(row), {legend.colours[static_cast<size_t>(row)]}, marks);
  }

  // The colours of a mask's values from 1 on.
  static std::vector<Colour> all_colours() {
    std::vector<Colour> colours(kIgnored, kUntold);
    for (uint32_t value = 1; value < kIgnored; ++value) colours[value - 1] = colour_of(value - 1);
    return colours;
  }

  static void add_mask(const Values& values, std::vector<Colour> colours, sheet::Marks& marks) {
    const int64_t height = values.shape()[0], width = values.shape()[1];
    if (height > sheet::kSideMax || width > sheet::kSideMax) return;
    sheet::Mask mask{static_cast<int>(width), static_cast<int>(height), {}, std::move(colours)};
    mask.values.reserve(static_cast<size_t>(width * height));
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x) mask.values.push_back(static_cast<uint32_t>(whole_of(values.at({y, x}))));
    marks.masks.push_back(std::move(mask));
  }

  std::string words(const ShownOutput& shown) const {
    const Values all = values(shown.name);
    if (all.is_text()) return all.text();
    if (all.shape().empty() && all.is_integer()) return number_words(shown, all.element(0));
    if (shown.as == ShownAs::kBoxes) return named_rows(shown, all.shape()[0]);
    if (all.shape().size() == 1 && !all.is_integer() && all.size() > 1 && is_spread(all)) return spread_words(all);
    return all.summary();
  }

  std::string number_words(const ShownOutput& shown, double number) const {
    const std::string text = std::to_string(whole_of(number));
    const std::string name = shown.is_class ? class_name(number) : text;
    return name == text ? text : text + " (" + name + ")";
  }

  // "3 (2 x cat, 1 x dog)".
  std::string named_rows(const ShownOutput& shown, int64_t rows) const {
    std::map<std::string, int> counts;
    for (const std::string& name : legend_of(shown.name, std::min(rows, kRowsMax)).names)
      if (!name.empty()) counts[name]++;
    std::string list;
    for (const auto& [name, count] : counts) list += (list.empty() ? "" : ", ") + std::to_string(count) + " x " + name;
    return std::to_string(rows) + (list.empty() ? "" : " (" + list + ")");
  }

  // Whether a tensor is a label that is spread over the classes.
  bool is_spread(const Values& label) const {
    if (pen_.classes.empty() || label.size() != static_cast<int64_t>(pen_.classes.size())) return false;
    for (int64_t i = 0; i < label.size(); ++i)
      if (!(label.element(i) >= 0 && label.element(i) <= 1)) return false;
    return true;
  }

  // "cat 0.70, dog 0.30": the classes that have the greatest parts.
  std::string spread_words(const Values& label) const {
    std::vector<std::pair<double, int64_t>> parts;
    for (int64_t i = 0; i < label.size(); ++i)
      if (label.element(i) > 0) parts.emplace_back(-label.element(i), i);
    std::sort(parts.begin(), parts.end());
    std::string text;
    for (size_t i = 0; i < std::min(parts.size(), kClassesShown); ++i)
      text += (text.empty() ? "" : ", ") + class_name(static_cast<double>(parts[i].second)) + " " +
              decimal_text(-parts[i].first, 2);
    return text.empty() ? "no class" : parts.size() > kClassesShown ? text + ", ..." : text;
  }

  const Batch& batch_;
  const uint64_t sample_;
  const std::vector<ShownOutput>& outputs_;
  const Pen& pen_;
};

}  // namespace

sheet::Card card_of(const Batch& batch, uint64_t sample, const std::vector<ShownOutput>& outputs, const Pen& pen) {
  return Sample(batch, sample, outputs, pen).card();
}

}  // namespace spdld::cli
