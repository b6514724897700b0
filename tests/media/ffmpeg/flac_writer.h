// Writes FLAC of every kind that RFC 9639 allows in frames of up to 24 bits, chosen at random: encoders use a small
// part of it alone.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/media/ffmpeg/flac_parts.h"

namespace spdld::test {

using FlacSamples = std::vector<int32_t>;

class FlacBits {
 public:
  void put(uint64_t value, unsigned bits) {
    for (; bits > 64; --bits) put_bit(false);
    for (; bits > 0; --bits) put_bit((value >> (bits - 1) & 1) != 0);
  }
  void put_unary(uint64_t zeroes) {
    for (; zeroes > 0; --zeroes) put_bit(false);
    put_bit(true);
  }
  // The last byte is filled with zeroes.
  std::string take() { return std::move(bytes_); }

 private:
  void put_bit(bool is_set) {
    if (used_ == 0) bytes_.push_back('\0');
    if (is_set) bytes_.back() = static_cast<char>(bytes_.back() | 0x80 >> used_);
    used_ = (used_ + 1) % 8;
  }

  std::string bytes_;
  int used_ = 0;
};

// How samples are predicted from those before them: a sum of products, shifted down.
struct FlacPrediction {
  std::vector<int> coefficients;  // the newest sample's first
  unsigned shift = 0, precision = 0;

  int64_t of(const int32_t* at) const {
    int64_t sum = 0;
    for (size_t i = 0; i < coefficients.size(); ++i) sum += int64_t{coefficients[i]} * at[-1 - static_cast<int>(i)];
    return sum >> shift;
  }
};

class FlacWriter {
 public:
  struct Sound {
    int channels = 2;
    unsigned bits = 16;
    size_t block = 1152;           // samples of a frame; the last one may have fewer
    int subframe = -1;             // its type; -1: any
    bool is_wild = false;          // residuals that have nothing to do with samples
    bool is_shifted_left = false;  // the sums of products, where every sum is 0
  };

  explicit FlacWriter(unsigned seed) : random_(seed) {}

  // One frame a block. The file is file_of() them.
  std::vector<std::string> frames(const Sound& sound, size_t samples) {
    std::vector<FlacSamples> channels;
    for (int c = 0; c < sound.channels; ++c) channels.push_back(signal(samples, sound.bits));
    if (sound.channels == 2 && any(2) == 0) channels[1] = near(channels[0], sound.bits);
    std::vector<std::string> all;
    for (size_t at = 0; at < samples; at += sound.block) {
      const size_t count = std::min(sound.block, samples - at);
      std::vector<FlacSamples> block;
      for (const FlacSamples& channel : channels)
        block.emplace_back(channel.begin() + static_cast<ptrdiff_t>(at),
                           channel.begin() + static_cast<ptrdiff_t>(at + count));
      all.push_back(frame(sound, all.size(), block));
    }
    return all;
  }

  static std::string file_of(const Sound& sound, size_t samples, const std::vector<std::string>& frames) {
    const uint64_t told = uint64_t{44'100} << 44 | (static_cast<uint64_t>(sound.channels) - 1) << 41 |
                          (uint64_t{sound.bits} - 1) << 36 | samples;
    const std::string info = big_endian(16, 2) + big_endian(std::max<size_t>(sound.block, 16), 2) +
                             std::string(6, '\0') + big_endian(told, 8) + std::string(16, '\0');
    return "fLaC" + block_of(0x80, info) + joined(frames);
  }

 private:
  uint32_t any(size_t below) { return static_cast<uint32_t>(random_() % below); }

  // Samples of every kind: silence, one value, noise, squares, tones, single peaks; some without their lowest bits.
  FlacSamples signal(size_t count, unsigned bits) {
    FlacSamples samples(count);
    const int32_t half = 1 << (bits - 1);
    const unsigned kind = any(8), wasted = any(3) == 0 ? any(bits - 2) : 0;
    const int32_t value = static_cast<int32_t>(any(2u * static_cast<unsigned>(half))) - half;
    const double step = 0.001 + 0.0001 * any(2000), size = half - 1;
    for (size_t i = 0; i < count; ++i) {
      const int32_t noise = static_cast<int32_t>(any(2u * static_cast<unsigned>(half))) - half;
      const double tone = size * std::sin(step * static_cast<double>(i));
      const std::array<int32_t, 8> all = {0,
                                          value,
                                          noise,
                                          noise >> (bits / 2),
                                          i / 50 % 2 == 0 ? -half : half - 1,
                                          static_cast<int32_t>(tone),
                                          static_cast<int32_t>(tone / 2) + (noise >> (bits / 2 + 1)),
                                          any(500) == 0 ? noise : 0};
      samples[i] = all[kind] >> wasted << wasted;
    }
    return samples;
  }
  FlacSamples near(FlacSamples samples, unsigned bits) {
    const int32_t half = 1 << (bits - 1);
    for (int32_t& sample : samples) sample = std::clamp(sample + static_cast<int32_t>(any(9)) - 4, -half, half - 1);
    return samples;
  }

  std::string frame(const Sound& sound, uint64_t number, std::vector<FlacSamples>& block) {
    constexpr std::array<unsigned, 4> kStereo = {1, 8, 9, 10};  // both channels, left and side, side and right, both
    constexpr std::array<unsigned, 7> kSizeCodes = {0, 0, 1, 2, 4, 5, 6};
    const unsigned assignment = sound.channels == 2 ? kStereo[any(4)] : static_cast<unsigned>(sound.channels) - 1;
    const unsigned size_code = kSizeCodes[sound.bits / 4];
    const std::string header = big_endian(0xFFF8, 2) + big_endian(0x79, 1) +
                               big_endian(assignment << 4 | size_code << 1, 1) + coded_number(number) +
                               big_endian(block[0].size() - 1, 2);
    FlacBits writer;
    std::vector<unsigned> bits(block.size(), sound.bits);
    if (assignment >= 8) {
      const FlacSamples left = block[0], right = block[1];
      for (size_t i = 0; i < left.size(); ++i) {
        const int32_t side = left[i] - right[i];
        if (assignment == 10) block[0][i] = (left[i] + right[i]) >> 1;
        block[assignment == 9 ? 0 : 1][i] = side;
      }
      ++bits[assignment == 9 ? 0 : 1];
    }
    for (size_t c = 0; c < block.size(); ++c) put_subframe(writer, sound, block[c], bits[c]);
    std::string all = header + big_endian(crc_of(header, 0x07, 8), 1) + writer.take() + "cc";
    with_crc(all);
    return all;
  }

  void put_subframe(FlacBits& writer, const Sound& sound, FlacSamples samples, unsigned bits) {
    unsigned wasted = wasted_in(samples, bits);
    if (any(4) == 0) wasted = 0;
    for (int32_t& sample : samples) sample >>= wasted;
    bits -= wasted;
    const bool is_constant = std::all_of(samples.begin(), samples.end(), [&](int32_t s) { return s == samples[0]; });
    unsigned type = sound.subframe >= 0 ? static_cast<unsigned>(sound.subframe) : any_type();
    const unsigned order = type >= 32 ? type - 31 : type >= 8 ? type - 8 : 0;
    const FlacPrediction prediction = type < 32               ? polynomial(order)
                                      : sound.is_shifted_left ? FlacPrediction{std::vector<int>(order), 31, 5}
                                                              : any_prediction(order);
    const std::vector<int64_t> residual = residual_of(samples, prediction, sound.is_wild);
    if ((type == 0 && !is_constant) || order > samples.size() || !is_small(residual)) type = 1;
    writer.put(type << 1 | (wasted > 0 ? 1 : 0), 8);
    if (wasted > 0) writer.put_unary(wasted - 1);
    if (type < 2) {
      for (size_t i = 0; i < (type == 0 ? 1 : samples.size()); ++i) put_signed(writer, samples[i], bits);
      return;
    }
    for (size_t i = 0; i < order; ++i) put_signed(writer, samples[i], bits);
    if (type >= 32) {
      writer.put(prediction.precision - 1, 4);
      writer.put(prediction.shift, 5);
      for (const int coefficient : prediction.coefficients) put_signed(writer, coefficient, prediction.precision);
    }
    put_residual(writer, residual, order, samples.size());
  }

  std::vector<int64_t> residual_of(const FlacSamples& samples, const FlacPrediction& prediction, bool is_wild) {
    std::vector<int64_t> residual;
    for (size_t i = prediction.coefficients.size(); i < samples.size(); ++i)
      residual.push_back(is_wild ? int64_t{any(size_t{1} << (1 + any(14)))} - 50
                                 : samples[i] - prediction.of(samples.data() + i));
    return residual;
  }
  static bool is_small(const std::vector<int64_t>& residual) {
    return std::all_of(residual.begin(), residual.end(), [](int64_t value) { return std::abs(value) < 1 << 28; });
  }

  static unsigned wasted_in(const FlacSamples& samples, unsigned bits) {
    uint32_t set = 0;
    for (const int32_t sample : samples) set |= static_cast<uint32_t>(sample);
    return set == 0 ? 0 : std::min(static_cast<unsigned>(std::countr_zero(set)), bits - 1);
  }

  unsigned any_type() {
    const unsigned kind = any(8);
    if (kind < 2) return kind;
    return kind < 5 ? 8 + any(5) : 32 + any(kind == 5 ? 32 : 12);
  }

  static FlacPrediction polynomial(unsigned order) {
    static const std::vector<std::vector<int>> all = {{}, {1}, {2, -1}, {3, -3, 1}, {4, -6, 4, -1}};
    return {all[order]};
  }
  // Mostly the last sample, and a little of all others.
  FlacPrediction any_prediction(unsigned order) {
    FlacPrediction prediction;
    prediction.precision = 2 + any(14);
    prediction.shift = any(2) == 0 ? prediction.precision - 2 : any(prediction.precision);
    const int most = 1 << (prediction.precision - 1), reach = std::max(1, most / 8);
    for (unsigned i = 0; i < order; ++i)
      prediction.coefficients.push_back(static_cast<int>(any(2 * static_cast<size_t>(reach))) - reach);
    prediction.coefficients[0] = std::min(1 << prediction.shift, most - 1);
    if (any(8) == 0) prediction.coefficients.back() = -most;
    return prediction;
  }

  void put_residual(FlacBits& writer, const std::vector<int64_t>& residual, unsigned order, size_t samples) {
    unsigned partition_order = any(9);
    while (samples % (size_t{1} << partition_order) != 0 || samples >> partition_order < order) --partition_order;
    const bool is_loud = std::any_of(residual.begin(), residual.end(), [](int64_t value) { return value > 1 << 16; });
    const unsigned method = is_loud ? 1 : any(2);  // short parameters would make long codes
    writer.put(method, 2);
    writer.put(partition_order, 4);
    const size_t partition = samples >> partition_order;
    size_t at = 0;
    for (size_t end = partition; end <= samples; end += partition) {
      put_partition(
          writer,
          {residual.begin() + static_cast<ptrdiff_t>(at), residual.begin() + static_cast<ptrdiff_t>(end - order)},
          4 + method);
      at = end - order;
    }
  }

  void put_partition(FlacBits& writer, const std::vector<int64_t>& residual, unsigned parameter_bits) {
    uint64_t most = 0, sum = 0;
    for (const int64_t value : residual) {
      most = std::max(most, static_cast<uint64_t>(value < 0 ? ~value : value));
      sum += folded(value);
    }
    const unsigned escape = (1u << parameter_bits) - 1, plain_bits = most == 0 ? 0 : std::bit_width(most) + 1;
    const unsigned all_bits = sum == 0 && any(2) == 0 ? 0 : std::max(plain_bits, 1u);
    if (any(10) == 0 && all_bits < 32) {
      writer.put(escape, parameter_bits);
      writer.put(all_bits, 5);
      for (const int64_t value : residual) put_signed(writer, value, all_bits);
      return;
    }
    const uint64_t mean = residual.empty() ? 0 : sum / residual.size();
    unsigned parameter = static_cast<unsigned>(std::bit_width(mean));
    if (any(3) == 0) parameter += any(5);
    if (any(3) == 0 && mean < 2000) parameter -= std::min(parameter, any(5));
    parameter = std::min(parameter, escape - 1);
    writer.put(parameter, parameter_bits);
    for (const int64_t value : residual) {
      writer.put_unary(folded(value) >> parameter);
      writer.put(folded(value), parameter);
    }
  }

  static uint64_t folded(int64_t value) { return static_cast<uint64_t>(value << 1 ^ value >> 63); }
  static void put_signed(FlacBits& writer, int64_t value, unsigned bits) {
    writer.put(static_cast<uint64_t>(value), bits);
  }

  std::mt19937_64 random_;
};

}  // namespace spdld::test
