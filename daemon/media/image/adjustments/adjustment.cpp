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
    waits = false;  // also where the work on the picture before was cut off
    warper.set_guard(guard);
  }
  void finish(const AdjustedPicture& picture) {
    if (waits) map_values(tables, picture);
    waits = false;
  }

  void then(const ValueTable& next) { then({next, next, next}); }
  void then(const std::array<ValueTable, 3>& next) {
    begin_table();
    for (size_t channel = 0; channel < next.size(); ++channel)
      for (uint8_t& value : tables.table[channel]) value = next[channel][value];
  }
  void permute(const std::array<uint8_t, 3>& order) {
    begin_table();
    const PointTables before = tables;
    for (size_t i = 0; i < order.size(); ++i) {
      tables.table[i] = before.table[order[i]];
      tables.order[i] = before.order[order[i]];
    }
  }
  void run_contrast(const Adjustment& adjustment, const AdjustedPicture& picture);
  template <typename TableOf>
  void run_histograms(const AdjustedPicture& picture, TableOf of) {
    finish(picture);
    const auto counts = histograms(picture);
    const bool grey = picture.channels == 1;
    then({of(counts[0]), of(counts[grey ? 0 : 1]), of(counts[grey ? 0 : 2])});
  }

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

  PointTables tables{};
  bool waits = false;
  ByteBuffer copy;
  std::vector<float> row;
  Warper warper;
  std::unique_ptr<JpegRoundTrip> jpeg;  // null: none was needed yet
  ByteBuffer branch;                    // of a mix
  ByteBuffer sums;                      // of a mix: a float for each value

 private:
  void begin_table() {
    if (waits) return;
    tables.table.fill(table_of([](int value) { return static_cast<uint8_t>(value); }));
    tables.order = {0, 1, 2};
    waits = true;
  }
};

void Adjuster::Inside::run_contrast(const Adjustment& adjustment, const AdjustedPicture& picture) {
  finish(picture);
  const auto amount = static_cast<float>(adjustment.amount);
  if (adjustment.has_pillows_values) return then(pillow_contrast_table(picture, amount));
  then(contrast_table(amount, static_cast<float>(1 - adjustment.amount), grey_mean(picture)));
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

namespace {

using Work = Adjuster::Inside;

// A change needs this before it is carried out.
enum class Needs : uint8_t {
  kNothing,  // it changes single values, and may wait in the table; or it asks for the pixels itself
  kPixels,   // the values that wait are in the pixels
  kColours   // the same, and the picture has colours: a picture of one channel stays as it is
};

// How a type of adjustment is carried out. `run` gets the change, and behind it the changes that it holds.
struct Way {
  AdjustmentType type;
  // The operation that makes such changes, for reports; empty: several do, and the change says which has drawn it.
  std::string_view name;
  Needs needs;
  void (*run)(Work& work, std::span<const Adjustment> changes, AdjustedPicture& picture);
};

float amount_of(std::span<const Adjustment> changes) { return static_cast<float>(changes.front().amount); }
bool as_pillow(std::span<const Adjustment> changes) { return changes.front().has_pillows_values; }

void run_sharpness(Work& work, std::span<const Adjustment> changes, AdjustedPicture& picture) {
  const uint8_t* const before = work.copy_of(picture);
  if (as_pillow(changes)) return pillow_sharpen(picture, before, amount_of(changes));
  sharpen(picture, before, changes.front().amount);
}

void run_saturation(Work&, std::span<const Adjustment> changes, AdjustedPicture& picture) {
  if (as_pillow(changes)) return pillow_saturate(picture, amount_of(changes));
  saturate(picture, changes.front().amount);
}

// The hue and saturation of grey are nothing.
void run_hsv_gains(Work& work, std::span<const Adjustment> changes, AdjustedPicture& picture) {
  if (picture.channels == 1) return work.then(hsv_tables(changes.front().gains).value);
  work.finish(picture);
  map_hsv_of_pixels(hsv_tables(changes.front().gains), picture.pixels(), picture.bytes() / 3);
}

void run_one_channel(Work&, std::span<const Adjustment>, AdjustedPicture& picture) {
  make_grey(picture);
  keep_one_channel(picture);
}

using Changes = std::span<const Adjustment>;
using Picture = AdjustedPicture;

// In the order of AdjustmentType.
constexpr std::array kWays = {
    Way{AdjustmentType::kBrightness, "brightness", Needs::kNothing,
        [](Work& work, Changes changes, Picture&) { work.then(brightness_table(amount_of(changes))); }},
    Way{AdjustmentType::kContrast, "contrast", Needs::kNothing,
        [](Work& work, Changes changes, Picture& picture) { work.run_contrast(changes.front(), picture); }},
    Way{AdjustmentType::kSaturation, "saturation", Needs::kColours, run_saturation},
    Way{AdjustmentType::kHue, "hue", Needs::kColours,
        [](Work&, Changes changes, Picture& picture) { turn_hue(picture, amount_of(changes)); }},
    Way{AdjustmentType::kHsvGains, "hsv-gains", Needs::kNothing, run_hsv_gains},
    Way{AdjustmentType::kGamma, "gamma", Needs::kNothing,
        [](Work& work, Changes changes, Picture&) {
          work.then(gamma_table(amount_of(changes), static_cast<float>(changes.front().gain)));
        }},
    Way{AdjustmentType::kGrey, "grayscale", Needs::kColours,
        [](Work&, Changes, Picture& picture) { make_grey(picture); }},
    Way{AdjustmentType::kOneChannel, "grayscale", Needs::kColours, run_one_channel},
    Way{AdjustmentType::kPermutation, "channel-permutation", Needs::kNothing,
        [](Work& work, Changes changes, Picture& picture) {
          if (picture.channels == 3) work.permute(changes.front().order);
        }},
    Way{AdjustmentType::kPosterize, "posterize", Needs::kNothing,
        [](Work& work, Changes changes, Picture&) {
          work.then(posterize_table(static_cast<int>(changes.front().amount)));
        }},
    Way{AdjustmentType::kSolarize, "solarize", Needs::kNothing,
        [](Work& work, Changes changes, Picture&) { work.then(solarize_table(amount_of(changes))); }},
    Way{AdjustmentType::kSolarizeAdd, "solarize", Needs::kNothing,
        [](Work& work, Changes changes, Picture&) {
          work.then(solarize_add_table(static_cast<int>(changes.front().amount)));
        }},
    Way{AdjustmentType::kInvert, "invert", Needs::kNothing,
        [](Work& work, Changes, Picture&) { work.then(solarize_table(0)); }},
    Way{AdjustmentType::kEqualize, "equalize", Needs::kNothing,
        [](Work& work, Changes, Picture& picture) { work.run_histograms(picture, equalize_table); }},
    Way{AdjustmentType::kAutocontrast, "autocontrast", Needs::kNothing,
        [](Work& work, Changes changes, Picture& picture) {
          work.run_histograms(picture, as_pillow(changes) ? pillow_autocontrast_table : autocontrast_table);
        }},
    Way{AdjustmentType::kSharpness, "sharpness", Needs::kPixels, run_sharpness},
    Way{AdjustmentType::kBlur, "gaussian-blur", Needs::kPixels,
        [](Work& work, Changes changes, Picture& picture) { work.run_blur(changes.front(), picture); }},
    Way{AdjustmentType::kNoise, "gaussian-noise", Needs::kPixels,
        [](Work&, Changes changes,
           Picture& picture) { add_noise(picture, *changes.front().noise, changes.front().seed); }},
    Way{AdjustmentType::kJpeg, "jpeg", Needs::kPixels,
        [](Work& work, Changes changes,
           Picture& picture) { work.run_jpeg(static_cast<int>(changes.front().amount), picture); }},
    Way{AdjustmentType::kOwn, "", Needs::kPixels,
        [](Work&, Changes changes, Picture& picture) { changes.front().own->run(changes.front().seed, picture); }},
    Way{AdjustmentType::kWarp, "", Needs::kPixels,
        [](Work& work, Changes changes, Picture& picture) { work.run_warp(changes.front().warp, picture); }},
    Way{AdjustmentType::kMix, "", Needs::kPixels,
        [](Work& work, Changes changes, Picture& picture) { work.run_mix(changes, picture); }}};

constexpr bool are_in_order() {
  for (size_t i = 0; i < kWays.size(); ++i)
    if (kWays[i].type != static_cast<AdjustmentType>(i)) return false;
  return kWays.size() == static_cast<size_t>(AdjustmentType::kBranch);  // which a mix carries out
}
static_assert(are_in_order());

const Way& way_of(const Adjustment& adjustment) { return kWays.at(static_cast<size_t>(adjustment.type)); }

// Runs the first of the changes, behind which the changes stand that it holds.
void run_first(Work& work, Changes changes, Picture& picture) {
  const Way& way = way_of(changes.front());
  if (way.needs != Needs::kNothing) work.finish(picture);
  if (way.needs != Needs::kColours || picture.channels != 1) way.run(work, changes, picture);
}

std::string_view name_of(const Adjustment& adjustment) {
  const std::string_view name = way_of(adjustment).name;
  return name.empty() ? adjustment.operation : name;
}

}  // namespace

void Adjuster::Inside::run_mix(std::span<const Adjustment> mix, AdjustedPicture& picture) {
  sums.resize(picture.bytes() * sizeof(float));
  auto weight = static_cast<float>(mix.front().amount);
  change_sums(picture, [&](float& sum, uint8_t value) { sum = weight * static_cast<float>(value); });
  for (auto left = mix.subspan(1, mix.front().held); !left.empty(); left = left.subspan(1 + left.front().held)) {
    AdjustedPicture changed{branch, picture.size, picture.channels, picture.guard};
    picture.copy_to(branch.resize(picture.bytes() + PixelRows::kSlackBytes));
    for (size_t i = 1; i <= left.front().held; ++i) run_first(*this, left.subspan(i), changed);
    finish(changed);
    weight = static_cast<float>(left.front().amount);
    change_sums(changed, [&](float& sum, uint8_t value) { sum += weight * static_cast<float>(value); });
  }
  change_sums(picture, [](float sum, uint8_t& value) { value = value_of(sum); });
}

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
    run_first(*inside_, adjustments.subspan(i), picture);
    last = name;
  }
  if (!inside_->waits) return;
  const media::Lap lap(timer, last);
  inside_->finish(picture);
}

void renew_noise(std::span<Adjustment> adjustments) {
  constexpr uint64_t kNext = 0x9E3779B97F4A7C15;  // the noise itself takes the numbers behind the seed
  for (Adjustment& adjustment : adjustments)
    if (adjustment.type == AdjustmentType::kNoise) adjustment.seed = mix_bits(adjustment.seed ^ kNext);
}

}  // namespace spdld::image
