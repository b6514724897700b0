#include "daemon/node/seats/sheet.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "config/operation.h"

namespace spdld::node {
namespace {

using config::DType;

constexpr uint64_t kChannels = 3;  // of the sheet
constexpr int kPointsAcross = 2;   // a pixel of the sheet is the mean of so many points squared

bool is_channels(int64_t count) { return count == 1 || count == 3; }

float float_of_half(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const auto fraction = static_cast<float>(half & 1023);
  const float size = exponent == 31  ? std::numeric_limits<float>::quiet_NaN()
                     : exponent == 0 ? std::ldexp(fraction, -24)
                                     : std::ldexp(fraction + 1024, exponent - 25);
  return half & 0x8000 ? -size : size;
}

template <typename T>
T loaded(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

float value_at(const uint8_t* at, DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return float_of_half(loaded<uint16_t>(at));
    case DType::kBfloat16:
      return std::bit_cast<float>(uint32_t{loaded<uint16_t>(at)} << 16);
    case DType::kFloat32:
      return loaded<float>(at);
    default:
      return *at;
  }
}

bool has_colours(DType dtype) {
  return dtype == DType::kUint8 || dtype == DType::kFloat16 || dtype == DType::kBfloat16 || dtype == DType::kFloat32;
}

std::optional<int64_t> whole_number_at(const uint8_t* at, DType dtype) {
  switch (dtype) {
    case DType::kUint8:
    case DType::kBool:
      return *at;
    case DType::kInt32:
      return loaded<int32_t>(at);
    case DType::kInt64:
      return loaded<int64_t>(at);
    default:
      return std::nullopt;
  }
}

// Where the three last dimensions of a sample are a picture, in whichever order.
bool set_shape(std::span<const uint64_t> shape, bool channels_first, PictureTensor& pictures) {
  if (shape.size() < 3) return false;
  const auto last = shape.last(3);
  pictures.channels_first = channels_first;
  pictures.channels = channels_first ? last[0] : last[2];
  pictures.height = channels_first ? last[1] : last[0];
  pictures.width = channels_first ? last[2] : last[1];
  return pictures.height > 0 && pictures.width > 0;
}

// By what the output's operations have shifted and scaled the picture's values; none: they have not.
void set_scale(const config::OutputSpec& output, PictureTensor& pictures) {
  for (const auto& operation : output.ops) {
    const config::Normalizing& names = config::find_operation(operation.op)->picture().normalizes;
    if (names.mean.empty()) continue;
    pictures.mean = operation.numbers(names.mean);
    pictures.std = operation.numbers(names.std);
    return;
  }
}

// Reads points of one sample's picture.
class Points {
 public:
  Points(const PictureTensor& pictures, DType dtype, const uint8_t* sample)
      : pictures_(pictures), dtype_(dtype), bytes_(config::dtype_bytes(dtype)), sample_(sample) {}

  float at(uint64_t y, uint64_t x, uint64_t channel) const {
    const uint64_t c = pictures_.channels == 1 ? 0 : channel;
    const uint64_t index = pictures_.channels_first ? (c * pictures_.height + y) * pictures_.width + x
                                                    : (y * pictures_.width + x) * pictures_.channels + c;
    const float value = value_at(sample_ + index * bytes_, dtype_);
    if (pictures_.mean.empty()) return value;
    const size_t of = std::min<size_t>(c, pictures_.mean.size() - 1);
    return static_cast<float>((value * pictures_.std[of] + pictures_.mean[of]) * 255);
  }

 private:
  const PictureTensor& pictures_;
  const DType dtype_;
  const size_t bytes_;
  const uint8_t* const sample_;
};

void append_small(const Points& points, const PictureTensor& pictures, const Sheet& sheet, std::vector<float>& out) {
  const auto place = [](uint64_t small, int point, uint64_t small_side, uint64_t side) {
    return std::min(side - 1,
                    (small * kPointsAcross + static_cast<uint64_t>(point)) * side / (small_side * kPointsAcross));
  };
  for (uint64_t y = 0; y < sheet.height; y++)
    for (uint64_t x = 0; x < sheet.width; x++)
      for (uint64_t c = 0; c < kChannels; c++) {
        float sum = 0;
        for (int dy = 0; dy < kPointsAcross; dy++)
          for (int dx = 0; dx < kPointsAcross; dx++)
            sum += points.at(place(y, dy, sheet.height, pictures.height), place(x, dx, sheet.width, pictures.width), c);
        out.push_back(sum / (kPointsAcross * kPointsAcross));
      }
}

// Values that are 8-bit or normalised have a known scale; others lie from 0 to 1, from 0 to 255, or anywhere.
void add_colours(std::span<const float> values, bool scale_is_known, Sheet& sheet) {
  float low = 0, high = 255;
  if (!scale_is_known) {
    low = std::numeric_limits<float>::max();
    high = std::numeric_limits<float>::lowest();
    for (const float value : values)
      if (std::isfinite(value)) {
        low = std::min(low, value);
        high = std::max(high, value);
      }
    constexpr float kSlack = 1.01f;
    if (low >= 0 && high <= 255 * kSlack) {
      low = 0;
      high = high <= kSlack ? 1 : 255;
    }
    sheet.is_stretched = low != 0 || (high != 1 && high != 255);
  }
  const float factor = high > low ? 255 / (high - low) : 0;
  sheet.rgb.reserve(values.size());
  for (const float value : values) {
    const float colour = std::isfinite(value) ? (value - low) * factor : 0;
    sheet.rgb.push_back(static_cast<uint8_t>(std::clamp(colour + 0.5f, 0.0f, 255.0f)));
  }
}

}  // namespace

std::optional<PictureTensor> picture_tensor(const batch::Layout& layout, std::span<const config::OutputSpec> outputs) {
  for (size_t i = 0; i < layout.tensors().size(); i++) {
    const batch::TensorPlace& place = layout.tensors()[i];
    const auto& shape = place.sample_shape;
    if (place.role != batch::Role::kRows || place.padding || !has_colours(place.dtype) || shape.size() < 3) continue;
    const bool channels_last = is_channels(shape.back());
    if (!channels_last && !is_channels(shape[shape.size() - 3])) continue;
    PictureTensor found{.tensor = i};
    const std::vector<uint64_t> largest(shape.begin(), shape.end());
    if (!set_shape(largest, !channels_last, found)) continue;
    for (const auto& output : outputs)
      if (output.name == place.name) set_scale(output, found);
    return found;
  }
  return std::nullopt;
}

SheetTaker::SheetTaker(const batch::Layout& layout, std::span<const config::OutputSpec> outputs,
                       std::span<const std::string> classes)
    : layout_(layout), pictures_(picture_tensor(layout, outputs)) {
  if (!pictures_) return;
  for (size_t i = 0; i < layout.tensors().size(); i++)
    if (layout.tensors()[i].name == "sample_id") ids_ = i;
  for (size_t i = 0; i < layout.tensors().size() && !label_; i++) {
    const batch::TensorPlace& place = layout.tensors()[i];
    const bool is_number = place.role == batch::Role::kRows && place.sample_shape.empty() &&
                           place.name != "sample_id" && (place.dtype == DType::kInt64 || place.dtype == DType::kInt32);
    if (!is_number) continue;
    label_ = i;
    for (const auto& output : outputs)
      if (output.name == place.name) label_is_class_ = output.from == "class";
  }
  if (label_is_class_) classes_ = classes;
}

void SheetTaker::look(const batch::Batch& batch, uint64_t now_ns) {
  if (!pictures_ || !is_wanted(now_ns)) return;
  uint64_t next_ns = next_ns_.load(std::memory_order_relaxed);
  if (now_ns < next_ns || !next_ns_.compare_exchange_strong(next_ns, now_ns + kBetweenNs)) return;
  try {
    auto sheet = take(batch, now_ns);
    const std::lock_guard lock(mutex_);
    latest_ = std::move(sheet);
  } catch (const std::bad_alloc&) {  // the batch goes its way, and the next sheet may find memory
  }
}

std::shared_ptr<const Sheet> SheetTaker::take(const batch::Batch& batch, uint64_t now_ns) const {
  const batch::TensorPlace& place = layout_.tensors()[pictures_->tensor];
  const auto view = batch::views_of(layout_, batch.slot->contents)[pictures_->tensor];
  PictureTensor pictures = *pictures_;
  auto sheet = std::make_shared<Sheet>();
  sheet->shape.assign(view.shape.begin() + 1, view.shape.begin() + view.rank);
  if (!set_shape(sheet->shape, pictures.channels_first, pictures)) return nullptr;
  sheet->output = place.name;
  sheet->dtype = config::dtype_name(place.dtype);
  sheet->epoch = batch.position.epoch;
  sheet->step = batch.position.step;
  sheet->samples = batch.valid();
  sheet->taken_ns = now_ns;
  const uint64_t longest = std::max(pictures.width, pictures.height), side = std::min(longest, kSideMax);
  sheet->width = static_cast<uint32_t>(std::max<uint64_t>(1, pictures.width * side / longest));
  sheet->height = static_cast<uint32_t>(std::max<uint64_t>(1, pictures.height * side / longest));
  sheet->pictures.resize(std::min(batch.valid(), kPicturesMax));

  std::vector<float> values;
  values.reserve(sheet->pictures.size() * sheet->width * sheet->height * kChannels);
  uint8_t* const slot = batch.slot->memory->fill_address();
  for (size_t i = 0; i < sheet->pictures.size(); i++) {
    const uint8_t* sample = layout_.sample_at(slot, pictures_->tensor, i, batch.slot->contents.shape);
    append_small(Points(pictures, place.dtype, sample), pictures, *sheet, values);
  }
  add_colours(values, place.dtype == DType::kUint8 || !pictures.mean.empty(), *sheet);
  add_words(batch, *sheet);
  return sheet;
}

void SheetTaker::add_words(const batch::Batch& batch, Sheet& sheet) const {
  const auto number_of = [&](std::optional<size_t> tensor, size_t i) -> std::optional<int64_t> {
    if (!tensor) return std::nullopt;
    uint8_t* const slot = batch.slot->memory->fill_address();
    return whole_number_at(layout_.sample_at(slot, *tensor, i, batch.slot->contents.shape),
                           layout_.tensors()[*tensor].dtype);
  };
  for (size_t i = 0; i < sheet.pictures.size(); i++) {
    if (const auto id = number_of(ids_, i); id && *id >= 0) sheet.pictures[i].sample = static_cast<uint64_t>(*id);
    const auto number = number_of(label_, i);
    if (!number) continue;
    const bool is_named = *number >= 0 && static_cast<uint64_t>(*number) < classes_.size();
    sheet.pictures[i].label = is_named ? classes_[static_cast<size_t>(*number)]
                                       : layout_.tensors()[*label_].name + " " + std::to_string(*number);
  }
  const auto note = [&](const std::vector<uint32_t>& marked, const char* text) {
    for (const uint32_t index : marked)
      if (const uint64_t row = batch.row_of(index); row < sheet.pictures.size()) sheet.pictures[row].note = text;
  };
  note(batch.substituted, "replaced");
  note(batch.masked, "masked");
}

std::shared_ptr<const Sheet> SheetTaker::latest(uint64_t now_ns) const {
  if (!is_wanted(now_ns)) return nullptr;
  const std::lock_guard lock(mutex_);
  return latest_;
}

void SheetTaker::tick(uint64_t now_ns) {
  if (is_wanted(now_ns)) return;
  const std::lock_guard lock(mutex_);
  latest_.reset();
}

}  // namespace spdld::node
