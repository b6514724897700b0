// The samples of a sound: a plane of floats for each channel, where full scale is from -1 to 1. Owned by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/base/byte_buffer.h"

namespace spdld::media {

class Sound {
 public:
  int rate_hz = 0;

  // The samples are undefined then.
  void resize(int channels, size_t count) {
    memory_.resize(static_cast<size_t>(channels) * count * sizeof(float));
    channels_ = channels;
    stride_ = count_ = count;
    offset_ = 0;
  }
  // Keeps the samples [first, first + count) alone.
  void keep(size_t first, size_t count) {
    offset_ += first;
    count_ = count;
  }

  int channels() const { return channels_; }
  size_t count() const { return count_; }    // of each channel
  size_t stride() const { return stride_; }  // from a channel's first sample to the next one's
  std::span<float> plane(int channel) { return {data() + offset_ + static_cast<size_t>(channel) * stride_, count_}; }

  void shrink(size_t bytes_max) {
    if (memory_.capacity() > bytes_max) {
      channels_ = 0;
      count_ = stride_ = offset_ = 0;
    }
    memory_.shrink(bytes_max);
  }

 private:
  float* data() { return reinterpret_cast<float*>(memory_.data()); }

  ByteBuffer memory_;
  int channels_ = 0;
  size_t count_ = 0, stride_ = 0, offset_ = 0;
};

}  // namespace spdld::media
