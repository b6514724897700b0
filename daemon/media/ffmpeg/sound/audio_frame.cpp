#include "daemon/media/ffmpeg/sound/audio_frame.h"

#include <bit>
#include <type_traits>
#include <vector>

namespace spdld::ffmpeg {
namespace {

// How numbers of type T mean samples.
template <typename T>
struct Meaning {
  T zero;
  float scale;

  float of(T number) const { return static_cast<float>(number - zero) * scale; }
};

// One channel's numbers, from a sample on, `step` apart.
template <typename T>
struct Numbers {
  const T* first;
  size_t step;

  Numbers(const AVFrame& frame, int channel, size_t at) {
    const bool is_planar = lib::av_sample_fmt_is_planar(static_cast<AVSampleFormat>(frame.format)) != 0;
    step = is_planar ? 1 : static_cast<size_t>(frame.ch_layout.nb_channels);
    first = reinterpret_cast<const T*>(frame.extended_data[is_planar ? channel : 0]) + at * step +
            (is_planar ? 0 : static_cast<size_t>(channel));
  }
};

// Calls visit() with the meaning of the frame's numbers. False: their type is not known.
template <typename Visit>
bool with_meaning(const AVFrame& frame, const Visit& visit) {
  switch (lib::av_get_packed_sample_fmt(static_cast<AVSampleFormat>(frame.format))) {
    case AV_SAMPLE_FMT_U8:
      visit(Meaning<uint8_t>{0x80, 0x1p-7f});
      return true;
    case AV_SAMPLE_FMT_S16:
      visit(Meaning<int16_t>{0, 0x1p-15f});
      return true;
    case AV_SAMPLE_FMT_S32:
      visit(Meaning<int32_t>{0, 0x1p-31f});
      return true;
    case AV_SAMPLE_FMT_S64:
      visit(Meaning<int64_t>{0, 0x1p-63f});
      return true;
    case AV_SAMPLE_FMT_FLT:
      visit(Meaning<float>{0, 1});
      return true;
    case AV_SAMPLE_FMT_DBL:
      visit(Meaning<double>{0, 1});
      return true;
    default:
      return false;
  }
}

// Calls act(step), with a step of 1 or 2 that the compiler knows: it takes several samples at once then.
template <typename Act>
void with_step(size_t step, const Act& act) {
  if (step == 1) return act(std::integral_constant<size_t, 1>());
  if (step == 2) return act(std::integral_constant<size_t, 2>());
  act(step);
}

// Of one channel, [at, at + count). False: the decoder gives samples of a type that is not known.
bool convert_channel(const AVFrame& frame, int channel, size_t at, size_t count, float* to) {
  return with_meaning(frame, [&]<typename T>(const Meaning<T>& meaning) {
    const Numbers<T> numbers(frame, channel, at);
    with_step(numbers.step, [&](auto step) {
      for (size_t i = 0; i < count; ++i) to[i] = meaning.of(numbers.first[i * step]);
    });
  });
}

// The mean of two channels, as add_channel() and finish_mean() make it.
bool convert_pair(const AVFrame& frame, size_t at, size_t count, float* to) {
  return with_meaning(frame, [&]<typename T>(const Meaning<T>& meaning) {
    const Numbers<T> a(frame, 0, at), b(frame, 1, at);
    with_step(a.step, [&](auto step) {
      for (size_t i = 0; i < count; ++i) to[i] = (meaning.of(a.first[i * step]) + meaning.of(b.first[i * step])) * 0.5f;
    });
  });
}

}  // namespace

bool LibraryFrame::channel(int channel, size_t at, size_t count, float* to) const {
  return convert_channel(frame, channel, at, count, to);
}
bool LibraryFrame::pair_mean(size_t at, size_t count, float* to) const { return convert_pair(frame, at, count, to); }

void add_channel(std::span<const float> channel, float* sums) {
  for (size_t i = 0; i < channel.size(); ++i) sums[i] += channel[i];
}

void finish_mean(int channels, std::span<float> sums) {
  if (std::has_single_bit(static_cast<unsigned>(channels))) {  // a product is exact there, and faster
    const float part = 1 / static_cast<float>(channels);
    for (float& sum : sums) sum *= part;
  } else {
    for (float& sum : sums) sum /= static_cast<float>(channels);
  }
}

void take_mean_of_copies(int copies, std::span<float> samples) {
  const std::vector<float> one(samples.begin(), samples.end());
  for (int copy = 1; copy < copies; ++copy) add_channel(one, samples.data());
  finish_mean(copies, samples);
}

}  // namespace spdld::ffmpeg
