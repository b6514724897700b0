// Prefetching for the kernels of resample.h. Plain code, the same for every instruction set; one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "daemon/media/image/kernels/resample.h"

namespace spdld::image {

// Prefetches the source rows of the next band, a few cache lines at a time, while this band is computed: planes come
// from a cache of gigabytes, and no machine foresees dozens of rows at once.
class Ahead {
 public:
  Ahead(const Band& band, size_t sources) : left_(sources), band_(band), from_(band.sources.data()) { begin_source(); }

  // With this many cache lines at each wanted pixel, all rows are asked for in time.
  static int lines_a_pixel(const Band& band) {
    const BandSource& luma = band.sources[0];
    const int rows = kBandRows * (luma.vertical->range().end - luma.vertical->range().first) / luma.vertical->count();
    return 2 * (rows + 1) * (luma.width() / static_cast<int>(kLine) + 2) / band.layout.width + 1;
  }

  void ask(int lines) {
    for (; lines > 0 && left_ > 0; --lines) {
      __builtin_prefetch(row_ + at_);
      at_ += kLine;
      if (at_ < row_bytes_) continue;
      at_ = 0;
      row_ += from_->stride_bytes;
      if (++y_ < end_) continue;
      --left_;
      ++from_;
      begin_source();
    }
  }

 private:
  static constexpr size_t kLine = 64;

  void begin_source() {
    const int next = band_.first_row + band_.rows;
    for (; left_ > 0; --left_, ++from_) {
      const AxisWeights& axis = *from_->vertical;
      if (next >= axis.count()) continue;
      y_ = axis.start(next - 1) + axis.taps();
      end_ = axis.start(std::min(next + kBandRows, axis.count()) - 1) + axis.taps();
      if (y_ >= end_) continue;
      row_ = from_->first + from_->stride_bytes * static_cast<size_t>(y_);
      row_bytes_ = static_cast<size_t>(from_->width()) + kLine;
      at_ = 0;
      return;
    }
  }

  size_t left_;  // sources
  const Band& band_;
  const BandSource* from_;
  const uint8_t* row_ = nullptr;
  size_t row_bytes_ = 0, at_ = 0;
  int y_ = 0, end_ = 0;
};

}  // namespace spdld::image
