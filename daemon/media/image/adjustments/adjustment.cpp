#include "daemon/media/image/adjustments/adjustment.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "daemon/base/byte_buffer.h"
#include "daemon/base/random.h"
#include "daemon/media/image/adjustments/adjust_pixels.h"
#include "daemon/media/image/adjustments/hsv_pixels.h"
#include "daemon/media/image/adjustments/pillow_pixels.h"
#include "daemon/media/image/adjustments/warper.h"
#include "daemon/media/image/codecs/jpeg_round_trip.h"

namespace spdld::image {
namespace {

template <typename Function>
ValueTable table_of(Function function) {
  ValueTable table;
  for (size_t i = 0; i < table.size(); ++i) table[i] = function(static_cast<int>(i));
  return table;
}

ValueTable brightness_table(float factor) {
  return table_of([=](int value) { return value_of(static_cast<float>(value) * factor); });
}

ValueTable contrast_table(float factor, float rest, float mean) {
  return table_of([=](int value) { return value_of(static_cast<float>(value) * factor + rest * mean); });
}

ValueTable gamma_table(float exponent, float gain) {
  return table_of([=](int value) {
    const float power = std::pow(static_cast<float>(value) * (1 / kWhiteValue), exponent);
    return value_of_unit(power * gain);
  });
}

ValueTable posterize_table(int bits) {
  return table_of([=](int value) { return static_cast<uint8_t>(value & (0xFF00 >> bits)); });
}

// torch compares in float32: a threshold of 85.000003, a third of white, is 85.
ValueTable solarize_table(float threshold) {
  return table_of([=](int value) { return static_cast<uint8_t>(value >= threshold ? 255 - value : value); });
}

ValueTable solarize_add_table(int added) {
  return table_of([=](int value) { return static_cast<uint8_t>(value < 128 ? std::min(value + added, 255) : value); });
}

// Pillow's way: the part of the pixels that are darker, where the pixels of the lightest colour do not count.
ValueTable equalize_table(const Histogram& counts) {
  uint64_t pixels = 0;
  uint32_t lightest = 0;
  for (const uint32_t count : counts) {
    pixels += count;
    if (count != 0) lightest = count;
  }
  const uint64_t step = (pixels - lightest) / 255;
  if (step == 0) return table_of([](int value) { return static_cast<uint8_t>(value); });
  uint64_t darker = 0;
  return table_of([&](int value) {
    const uint64_t to = value == 0 ? 0 : std::min<uint64_t>((darker + step / 2) / step, 255);
    darker += counts[static_cast<size_t>(value)];
    return static_cast<uint8_t>(to);
  });
}

ValueTable autocontrast_table(const Histogram& counts) {
  const auto occurs = [](uint32_t count) { return count != 0; };
  const auto first = std::find_if(counts.begin(), counts.end(), occurs) - counts.begin();
  const auto after = counts.rend() - std::find_if(counts.rbegin(), counts.rend(), occurs);
  auto least = static_cast<float>(first);
  float scale = (static_cast<float>(after - 1) - least) * (1 / kWhiteValue);
  if (scale == 0) {
    least = 0;
    scale = 1;
  }
  return table_of([=](int value) { return value_of((static_cast<float>(value) - least) / scale); });
}

}  // namespace

// Changes of single values wait in one table until something else needs the pixels.
struct Adjuster::Inside {
  void begin(media::WorkGuard* guard) {
    waits_ = false;  // also where the work on the picture before was cut off
    warper.set_guard(guard);
  }
  // Runs the first of `adjustments`, behind which stand the adjustments that it holds.
  void run(std::span<const Adjustment> adjustments, AdjustedPicture& picture);
  bool waits() const { return waits_; }
  void finish(const AdjustedPicture& picture) {
    if (waits_) map_values(tables, picture);
    waits_ = false;
  }

 private:
  using Kind = Adjustment::Kind;

  void begin() {
    if (waits_) return;
    tables.table.fill(table_of([](int value) { return static_cast<uint8_t>(value); }));
    tables.order = {0, 1, 2};
    waits_ = true;
  }
  void then(const ValueTable& next) { then({next, next, next}); }
  void then(const std::array<ValueTable, 3>& next) {
    begin();
    for (size_t channel = 0; channel < next.size(); ++channel)
      for (uint8_t& value : tables.table[channel]) value = next[channel][value];
  }
  void permute(const std::array<uint8_t, 3>& order) {
    begin();
    const PointTables before = tables;
    for (size_t i = 0; i < order.size(); ++i) {
      tables.table[i] = before.table[order[i]];
      tables.order[i] = before.order[order[i]];
    }
  }
  bool run_table(const Adjustment& adjustment, const AdjustedPicture& picture);
  void run_colours(const Adjustment& adjustment, AdjustedPicture& picture);
  const uint8_t* copy_of(const AdjustedPicture& picture) {
    picture.copy_to(copy.resize(picture.bytes()));
    return copy.data();
  }
  void run_blur(const Adjustment& adjustment, const AdjustedPicture& picture);
  void run_warp(const Warp& warp, AdjustedPicture& picture);
  void run_jpeg(int quality, const AdjustedPicture& picture);
  void run_mix(std::span<const Adjustment> mix, AdjustedPicture& picture);
  // Of a mix: its first picture sets the sums, and the others add to them.
  template <typename Change>
  void change_sums(const AdjustedPicture& picture, Change change) {
    auto* sum = reinterpret_cast<float*>(sums.data());
    picture.each_part(1, [&](uint8_t* pixels, size_t bytes) {
      for (size_t i = 0; i < bytes; ++i) change(sum[i], pixels[i]);
      sum += bytes;
    });
  }
  template <typename TableOf>
  void run_histograms(const AdjustedPicture& picture, TableOf of) {
    finish(picture);
    const auto counts = histograms(picture);
    const bool grey = picture.channels == 1;
    then({of(counts[0]), of(counts[grey ? 0 : 1]), of(counts[grey ? 0 : 2])});
  }

  PointTables tables{};
  bool waits_ = false;
  ByteBuffer copy;
  std::vector<float> row;
  Warper warper;
  std::unique_ptr<JpegRoundTrip> jpeg;  // null: none was needed yet
  ByteBuffer branch;                    // of a mix
  ByteBuffer sums;                      // of a mix: a float for each value
};

// False: it is more than a table.
bool Adjuster::Inside::run_table(const Adjustment& adjustment, const AdjustedPicture& picture) {
  const auto amount = static_cast<float>(adjustment.amount);
  switch (adjustment.kind) {
    case Kind::kBrightness:
      then(brightness_table(amount));
      return true;
    case Kind::kContrast:
      finish(picture);
      if (adjustment.has_pillows_values) {
        then(pillow_contrast_table(picture, amount));
        return true;
      }
      then(contrast_table(amount, static_cast<float>(1 - adjustment.amount), grey_mean(picture)));
      return true;
    case Kind::kGamma:
      then(gamma_table(amount, static_cast<float>(adjustment.gain)));
      return true;
    case Kind::kHsvGains:
      if (picture.channels != 1) return false;
      then(hsv_tables(adjustment.gains).value);
      return true;
    case Kind::kPosterize:
      then(posterize_table(static_cast<int>(adjustment.amount)));
      return true;
    case Kind::kSolarize:
      then(solarize_table(amount));
      return true;
    case Kind::kSolarizeAdd:
      then(solarize_add_table(static_cast<int>(adjustment.amount)));
      return true;
    case Kind::kInvert:
      then(solarize_table(0));
      return true;
    case Kind::kPermutation:
      if (picture.channels == 3) permute(adjustment.order);
      return true;
    case Kind::kEqualize:
      run_histograms(picture, equalize_table);
      return true;
    case Kind::kAutocontrast:
      run_histograms(picture, adjustment.has_pillows_values ? pillow_autocontrast_table : autocontrast_table);
      return true;
    default:
      return false;
  }
}

// A picture of one channel is grey already: its values are all that it has.
void Adjuster::Inside::run_colours(const Adjustment& adjustment, AdjustedPicture& picture) {
  if (picture.channels == 1) return;
  switch (adjustment.kind) {
    case Kind::kSaturation:
      if (adjustment.has_pillows_values) return pillow_saturate(picture, static_cast<float>(adjustment.amount));
      return saturate(picture, adjustment.amount);
    case Kind::kHue:
      return turn_hue(picture, static_cast<float>(adjustment.amount));
    case Kind::kHsvGains:
      return map_hsv_of_pixels(hsv_tables(adjustment.gains), picture.pixels(), picture.bytes() / 3);
    case Kind::kGrey:
      return make_grey(picture);
    default:
      make_grey(picture);
      return keep_one_channel(picture);
  }
}

void Adjuster::Inside::run_blur(const Adjustment& adjustment, const AdjustedPicture& picture) {
  std::array<float, kTapsMax> across, down;
  const std::span<float> columns(across.data(), static_cast<size_t>(adjustment.taps_across));
  const std::span<float> rows(down.data(), static_cast<size_t>(adjustment.taps_down));
  fill_gaussian(adjustment.amount, columns);
  fill_gaussian(adjustment.amount, rows);
  blur(picture, copy_of(picture), columns, rows, row);
}

void Adjuster::Inside::run_warp(const Warp& warp, AdjustedPicture& picture) {
  const AdjustedPicture made{copy, warp.size, picture.channels, picture.guard};
  copy.resize(made.bytes() + PixelRows::kSlackBytes);
  warper.run(warp, picture.pixels(), picture.channels, made.pixels());
  picture.size = warp.size;
  std::swap(copy, picture.memory);
}

void Adjuster::Inside::run_jpeg(int quality, const AdjustedPicture& picture) {
  picture.spend(10 * picture.bytes(), 1);
  if (!jpeg) jpeg = make_jpeg_round_trip();
  jpeg->run(picture.pixels(), picture.size, picture.channels, quality);
}

void Adjuster::Inside::run_mix(std::span<const Adjustment> mix, AdjustedPicture& picture) {
  sums.resize(picture.bytes() * sizeof(float));
  auto weight = static_cast<float>(mix.front().amount);
  change_sums(picture, [&](float& sum, uint8_t value) { sum = weight * static_cast<float>(value); });
  for (auto left = mix.subspan(1, mix.front().held); !left.empty(); left = left.subspan(1 + left.front().held)) {
    AdjustedPicture changed{branch, picture.size, picture.channels, picture.guard};
    picture.copy_to(branch.resize(picture.bytes() + PixelRows::kSlackBytes));
    for (size_t i = 1; i <= left.front().held; ++i) run(left.subspan(i), changed);
    finish(changed);
    weight = static_cast<float>(left.front().amount);
    change_sums(changed, [&](float& sum, uint8_t value) { sum += weight * static_cast<float>(value); });
  }
  change_sums(picture, [](float sum, uint8_t& value) { value = value_of(sum); });
}

void Adjuster::Inside::run(std::span<const Adjustment> adjustments, AdjustedPicture& picture) {
  const Adjustment& adjustment = adjustments.front();
  if (run_table(adjustment, picture)) return;
  finish(picture);
  switch (adjustment.kind) {
    case Kind::kSharpness:
      if (adjustment.has_pillows_values)
        return pillow_sharpen(picture, copy_of(picture), static_cast<float>(adjustment.amount));
      return sharpen(picture, copy_of(picture), adjustment.amount);
    case Kind::kBlur:
      return run_blur(adjustment, picture);
    case Kind::kNoise:
      return add_noise(picture, *adjustment.noise, adjustment.seed);
    case Kind::kJpeg:
      return run_jpeg(static_cast<int>(adjustment.amount), picture);
    case Kind::kWarp:
      return run_warp(adjustment.warp, picture);
    case Kind::kMix:
      return run_mix(adjustments, picture);
    default:
      return run_colours(adjustment, picture);
  }
}

namespace {

// The operation that makes this change; where several ones do, the one that has drawn it.
std::string_view name_of(const Adjustment& adjustment) {
  using Kind = Adjustment::Kind;
  switch (adjustment.kind) {
    case Kind::kBrightness:
      return "brightness";
    case Kind::kContrast:
      return "contrast";
    case Kind::kSaturation:
      return "saturation";
    case Kind::kHue:
      return "hue";
    case Kind::kHsvGains:
      return "hsv-gains";
    case Kind::kGamma:
      return "gamma";
    case Kind::kGrey:
    case Kind::kOneChannel:
      return "grayscale";
    case Kind::kPermutation:
      return "channel-permutation";
    case Kind::kPosterize:
      return "posterize";
    case Kind::kSolarize:
    case Kind::kSolarizeAdd:
      return "solarize";
    case Kind::kInvert:
      return "invert";
    case Kind::kEqualize:
      return "equalize";
    case Kind::kAutocontrast:
      return "autocontrast";
    case Kind::kSharpness:
      return "sharpness";
    case Kind::kBlur:
      return "gaussian-blur";
    case Kind::kNoise:
      return "gaussian-noise";
    case Kind::kJpeg:
      return "jpeg";
    case Kind::kWarp:
    case Kind::kMix:
    case Kind::kBranch:
      break;
  }
  return adjustment.operation;
}

}  // namespace

Adjuster::Adjuster() : inside_(std::make_unique<Inside>()) {}
Adjuster::~Adjuster() = default;

void Adjuster::run(std::span<const Adjustment> adjustments, size_t pass, AdjustedPicture& picture) {
  inside_->begin(guard_);
  picture.guard = guard_;
  media::WorkTimer off;
  media::WorkTimer& timer = timer_ == nullptr ? off : *timer_;
  std::string_view last;  // of several changes of single values, which are carried out as one
  for (size_t i = 0; i < adjustments.size(); ++i) {
    if (adjustments[i].pass != pass) continue;
    const std::string_view name = name_of(adjustments[i]);
    const media::Lap lap(timer, name);
    if (guard_ != nullptr) guard_->doing(name);
    inside_->run(adjustments.subspan(i), picture);
    last = name;
  }
  if (!inside_->waits()) return;
  const media::Lap lap(timer, last);
  inside_->finish(picture);
}

void renew_noise(std::span<Adjustment> adjustments) {
  constexpr uint64_t kNext = 0x9E3779B97F4A7C15;  // the noise itself takes the numbers behind the seed
  for (Adjustment& adjustment : adjustments)
    if (adjustment.kind == Adjustment::Kind::kNoise) adjustment.seed = mix_bits(adjustment.seed ^ kNext);
}

}  // namespace spdld::image
