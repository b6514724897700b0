#include "config/operations/common.h"

#include <algorithm>
#include <utility>

#include "config/picture_pixels.h"
#include "config/picture_size.h"
#include "config/size_schedule.h"
#include "config/text/words.h"
#include "config/varying.h"

namespace spdld::config::ops {

Parameter flag(std::string_view name, std::string_view help, bool fallback) {
  return {.name = name, .type = ParameterType::kFlag, .help = help, .fallback = Value(fallback)};
}

Parameter choice(std::string_view name, std::string_view help, std::vector<std::string_view> choices,
                 std::string_view fallback) {
  return {.name = name,
          .type = ParameterType::kChoice,
          .help = help,
          .fallback = Value(std::string(fallback)),
          .choices = std::move(choices)};
}

Parameter size(std::string_view help) {
  return {.name = "size",
          .type = ParameterType::kNumbers,
          .help = help,
          .min = 1,
          .max = kSideMax,
          .count_min = 1,
          .count_max = 2,
          .whole = true};
}

Parameter by_epoch() {
  return {.name = kByEpoch,
          .type = ParameterType::kNames,
          .help = "other sizes from some epochs on, \"EPOCH:SIZE\", such as [\"12:192\", \"16:224x256\"]; at most 63",
          .fallback = Value(std::string())};
}

void check_by_epoch(OperationSpec& spec, const Complain& complain) {
  const std::string& text = spec.text(kByEpoch);
  if (text.empty()) {
    spec.parameters.erase(std::string(kByEpoch));
    return;
  }
  const std::vector<ScheduledSize> all = schedule_in(text);
  const auto is_large = [](const ScheduledSize& one) {
    return one.size.height > static_cast<int64_t>(kSideMax) || one.size.width > static_cast<int64_t>(kSideMax);
  };
  if (all.empty() || all.size() >= kScheduledSizesMax)
    complain(kByEpoch,
             "must be up to " + std::to_string(kScheduledSizesMax - 1) +
                 " epochs and sizes such as \"12:192\" or \"12:192x256\", each epoch later than the one before, "
                 "and the first at least 1: until then pictures have `size`");
  else if (std::any_of(all.begin(), all.end(), is_large))
    complain(kByEpoch, "must have sides of at most 16384 pixels");
}

Signature resized_by_epoch(const OperationSpec& spec, const Signature& picture) {
  const std::vector<ScheduledSize> schedule = schedule_of(spec);
  PictureSize most = picture_size(spec);
  if (schedule.empty()) return resized(picture, most.height, most.width, true);
  for (const ScheduledSize& one : schedule)
    most = {std::max(most.height, one.size.height), std::max(most.width, one.size.width)};
  Signature scheduled = resized(picture, Dimension::bounded(most.height), Dimension::bounded(most.width), true);
  for (const ScheduledSize& one : schedule) scheduled.picture().sizes.push_back({one.size.height, one.size.width});
  return scheduled;
}

Parameter antialias() {
  return flag("antialias", "when shrinking, average over all the pixels that are covered", true);
}

Parameter filter() {
  return choice("filter",
                "how pixels are made: with the values of Pillow's filter of this name; without antialias, bicubic is "
                "torchvision's of tensors, and lanczos and box are refused",
                {"bilinear", "nearest", "bicubic", "lanczos", "box"}, kBilinear);
}

void check_filter(OperationSpec& spec, const Complain& complain) {
  const std::string& name = spec.text("filter");
  if (!spec.flag("antialias") && (name == "lanczos" || name == "box"))
    return complain("antialias", "must be true with filter = " + in_quotes(name));
  if (name == kBilinear) spec.parameters.erase("filter");
}

Parameter number(std::string_view name, std::string_view help, double fallback, double min, double max) {
  return {
      .name = name, .type = ParameterType::kNumber, .help = help, .fallback = Value(fallback), .min = min, .max = max};
}

Parameter numbers(std::string_view name, std::string_view help, double min, double max, int count_max,
                  std::vector<double> fallback) {
  return {.name = name,
          .type = ParameterType::kNumbers,
          .help = help,
          .fallback = Value(std::move(fallback)),
          .min = min,
          .max = max,
          .count_min = 1,
          .count_max = count_max};
}

Parameter number_pair(std::string_view name, std::string_view help, std::vector<double> fallback, double min,
                      double max) {
  Parameter pair = numbers(name, help, min, max, 2, std::move(fallback));
  pair.count_min = 2;
  return pair;
}

Parameter probability(double fallback) { return number("p", "probability", fallback, 0, 1); }

Parameter draw() {
  return {.name = "draw",
          .type = ParameterType::kText,
          .help =
              "name of the random numbers to take, by default the operation's: outputs of a sample that give the "
              "same name take the same numbers",
          .fallback = Value(std::string())};
}

Parameter raw_offset() {
  return {.name = "offset",
          .type = ParameterType::kInteger,
          .help = "the byte at which the values begin, and behind which there may be others; -1: there are no others",
          .fallback = Value(int64_t{-1}),
          .min = -1,
          .max = 1u << 30};
}

Parameter length() {
  return {.name = "length",
          .type = ParameterType::kInteger,
          .help = "of the first dimension; another length is bad content; 0: samples differ in length",
          .fallback = Value(int64_t{0}),
          .min = 0,
          .max = static_cast<double>(kLengthMax)};
}

Dimension length_of(const OperationSpec& spec) {
  const int64_t length = spec.integer("length");
  return length == 0 ? Dimension() : Dimension(length);
}

void check_range(const OperationSpec& spec, std::string_view name, const Complain& complain) {
  const auto& pair = spec.numbers(name);
  if (pair.front() > pair.back()) complain(name, "must have its least number first: [least, greatest]");
}

void check_draw(const OperationSpec& spec, const Complain& complain) {
  const std::string& name = spec.text("draw");
  if (!name.empty() && !is_word(name, "_.-"))
    complain("draw", "must be 1 to 64 letters, digits, \"_\", \".\" or \"-\", not " + in_quotes(name));
}

std::string bind_cut(const OperationSpec& spec, Signature& signature) {
  const PictureSize size = picture_size(spec);
  signature = resized(signature, size.height, size.width, signature.picture().is_resampled);
  return "";
}

Parameter classes() {
  return {.name = "classes",
          .type = ParameterType::kInteger,
          .help = "how many there are: the length of the tensor",
          .min = 1,
          .max = 1'000'000};
}

Parameter class_dtype() {
  return choice("dtype", "of the tensor's elements", {"uint8", "float32", "float64"}, "float32");
}

std::string why_not_read(const Signature& signature, std::string_view wanted) {
  if (signature.bytes().origin != Origin::kName) return "";
  return "can't read \"path\": it is the sample's name, not " + std::string(wanted);
}

std::string bind_number(Signature& signature, Signature number) {
  if (const std::string why = why_not_read(signature, "a number"); !why.empty()) return why;
  signature = std::move(number);
  return "";
}

std::string bind_view_list(Signature& signature, Signature list) {
  if (const std::string why = why_not_read(signature, "a list"); !why.empty()) return why;
  if (!signature.bytes().frame)
    return "has no picture to follow: its output's `view` needs a leader, which begins with decode-image";
  signature = std::move(list);
  return "";
}

std::string bind_mask(Signature& signature, Signature masks) {
  if (signature.bytes().origin == Origin::kName)
    return "can't decode \"path\": it is the sample's name, not its content";
  if (signature.bytes().origin == Origin::kJson)
    return "can't decode a JSON value: it is a number or a text, not a mask";
  if (!signature.bytes().frame)
    return "has no picture to follow: its output's `view` needs a leader, which begins with decode-image";
  signature = std::move(masks);
  return "";
}

std::vector<Parameter> time_part() {
  return {
      {.name = kTimePart[0],
       .type = ParameterType::kText,
       .help = "name of an output that begins with parse-float: the part of the recording begins at so many seconds; "
               "its beginning when empty",
       .fallback = Value(std::string())},
      {.name = kTimePart[1],
       .type = ParameterType::kText,
       .help = "name of an output that begins with parse-float: the part of the recording ends before so many "
               "seconds; its end when empty",
       .fallback = Value(std::string())}};
}

std::vector<Ask> time_part_asks() {
  std::vector<Ask> asks;
  for (const std::string_view parameter : kTimePart) asks.push_back({parameter, Told::kNumber});
  return asks;
}

Parameter picture_layout(std::string_view fallback) {
  return choice("layout",
                "order of height, width and channel; the frames of a clip come before all three, or, with NCTHW, "
                "between the channels and the height",
                {"NHWC", "NCHW", "NCTHW"}, fallback);
}

namespace {

// The dimensions of a picture, or of a clip's frames, in this layout.
template <typename Size>
std::vector<Size> laid_out(Layout layout, std::optional<int64_t> frames, const Size& height, const Size& width,
                           const Size& channels) {
  std::vector<Size> picture = {channels, height, width};
  if (layout == Layout::kNhwc) picture = {height, width, channels};
  if (frames) picture.insert(layout == Layout::kNcthw ? picture.begin() + 1 : picture.begin(), Size(*frames));
  return picture;
}

}  // namespace

std::string bind_picture_tensor(const OperationSpec& spec, Signature& signature) {
  const PictureFacts picture = signature.picture();
  const bool may_differ = picture.is_handed_on && !picture.pieces && !picture.frames;
  if (!signature.is_fixed() && picture.sizes.empty() && !may_differ)
    return "has pictures whose size is not fixed: add center-crop, random-crop, random-resized-crop, or a resize with "
           "two numbers";
  const Dimension height = signature.dimensions[0], width = signature.dimensions[1];
  const Dimension channels = picture.channels;
  const Layout layout = layout_named(spec.text("layout"));
  if (layout == Layout::kNcthw && !picture.frames)
    return "has one picture, and layout = \"NCTHW\" is for the frames of a clip: write layout = \"NCHW\"";
  std::vector<Dimension> dimensions = laid_out(layout, picture.frames, height, width, channels);
  std::vector<std::vector<int64_t>> shapes;
  for (const auto& [high, wide] : picture.sizes)
    shapes.push_back(laid_out(layout, picture.frames, high, wide, int64_t{picture.channels}));
  const bool is_one = !picture.pieces && !picture.frames && shapes.empty();
  if (picture.pieces) dimensions.insert(dimensions.begin(), *picture.pieces);
  if (picture.clips) {
    dimensions.insert(dimensions.begin(), *picture.clips);
    for (std::vector<int64_t>& shape : shapes) shape.insert(shape.begin(), *picture.clips);
  }
  signature =
      tensor(dtype_named(spec.text("dtype")), std::move(dimensions), is_one ? std::optional(layout) : std::nullopt);
  signature.tensor().shapes = std::move(shapes);
  return "";
}

}  // namespace spdld::config::ops
