#include "daemon/media/signal/block_resampler.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "daemon/base/byte_buffer.h"
#include "daemon/media/signal/lanes.h"

namespace spdld::audio {
namespace {

constexpr size_t kBlocks = kLanes<float>;  // at a time
constexpr size_t kEdgesInBlock = 8;        // at least: three quarters of a block are its own
constexpr size_t kSizeMin = 1024, kSizeMax = 16'384;
constexpr uint64_t kPrimeMax = 13, kFastPrimeMax = 5;  // of rates, and of what may be chosen
constexpr size_t kAlignment = 64;

bool has_factors_to(uint64_t most, uint64_t size) {
  for (uint64_t prime = 2; prime <= most; ++prime)
    while (size % prime == 0) size /= prime;
  return size == 1;
}

}  // namespace

// Blocks are of an even number of units, so that their sizes are even.
std::optional<BlockResampler> BlockResampler::of(uint64_t from, uint64_t to, size_t half, const Filter& filter) {
  const uint64_t greater = std::max(from, to);
  if (from == to || greater > kSizeMax || !has_factors_to(kPrimeMax, from * to)) return std::nullopt;
  const size_t edge = half / from + 1;
  size_t block = std::max<size_t>(kEdgesInBlock * edge, kSizeMin / greater);
  while (block % 2 != 0 || !has_factors_to(kFastPrimeMax, block)) ++block;
  if (block * greater > kSizeMax) return std::nullopt;
  return BlockResampler(from, to, {block, edge}, half, filter);
}

BlockResampler::BlockResampler(uint64_t from, uint64_t to, const Sizes& sizes, size_t half, const Filter& filter)
    : in_size_(from * sizes.block),
      out_size_(to * sizes.block),
      in_step_(from * (sizes.block - 2 * sizes.edge)),
      out_step_(to * (sizes.block - 2 * sizes.edge)),
      in_edge_(from * sizes.edge),
      out_edge_(to * sizes.edge),
      forward_(in_size_),
      backward_(out_size_) {
  // A plain sum for the filter's response at each bin, which is real since the filter is symmetric.
  std::vector<double> cosines(in_size_), weights(half + 1);
  for (size_t i = 0; i < in_size_; ++i)
    cosines[i] = std::cos(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(in_size_));
  for (size_t i = 0; i <= half; ++i) weights[i] = filter(static_cast<double>(i));
  for (size_t bin = 0; bin < std::min(in_size_, out_size_) / 2; ++bin) {
    double gain = weights[0];
    for (size_t i = 1; i <= half; ++i) gain += 2 * weights[i] * cosines[bin * i % in_size_];
    gains_.push_back(static_cast<float>(gain / static_cast<double>(in_size_)));
  }
}

uint64_t BlockResampler::inputs_begin(uint64_t first) const {
  const uint64_t begin = first / out_step_ * in_step_;
  return begin - std::min<uint64_t>(begin, in_edge_);
}

uint64_t BlockResampler::inputs_end(uint64_t last) const { return last / out_step_ * in_step_ + in_size_ - in_edge_; }

// One call of run().
class BlockResampler::Resampling {
 public:
  Resampling(const BlockResampler& its, std::span<const float> in, uint64_t in_first, uint64_t first,
             std::span<float> out, ByteBuffer& memory)
      : its_(its), in_(in), in_first_(in_first), first_(first), out_(out) {
    const size_t floats = kBlocks * std::max(its.in_size_, its.out_size_), bins = 2 * kBlocks * its.gains_.size();
    const size_t edges = kSeries * its.in_size_, ends = kSeries * its.out_step_;
    const size_t bytes = (2 * floats + bins + edges + ends) * sizeof(float);
    values_ = reinterpret_cast<float*>(memory.resize_aligned(bytes, kAlignment));
    work_ = values_ + floats;
    bins_ = work_ + floats;
    edges_ = bins_ + bins;
    ends_ = edges_ + edges;
  }

  void run() {
    const uint64_t begin = first_ / its_.out_step_, end = (first_ + out_.size() - 1) / its_.out_step_ + 1;
    for (uint64_t block = begin; block < end; block += kBlocks) {
      for (size_t i = 0; i < kBlocks; i += kSeries) take(block + i, end, values_ + i);
      its_.forward_.write_bins(values_, work_, its_.gains_.size(), bins_);
      weigh();
      its_.backward_.prepare_back(bins_, its_.gains_.size(), values_);
      const float* const result = its_.backward_.run_back(values_, work_);
      for (size_t i = 0; i < kBlocks && block + i < end; i += kSeries) give(block + i, result + i);
    }
  }

 private:
  // Brings the samples of some blocks; from the block `end` on, the one before comes again.
  void take(uint64_t block, uint64_t end, float* to) {
    const float* from[kSeries];
    for (size_t i = 0; i < kSeries; ++i) from[i] = samples_of(std::min(block + i, end - 1), edges_ + i * its_.in_size_);
    gather(from, its_.in_size_, kBlocks, to);
  }

  // Where not all of them are there, silence takes their place in `edge`.
  const float* samples_of(uint64_t block, float* edge) const {
    const auto begin = static_cast<int64_t>(block * its_.in_step_) - static_cast<int64_t>(its_.in_edge_ + in_first_);
    const auto size = static_cast<int64_t>(its_.in_size_), there = static_cast<int64_t>(in_.size());
    if (begin >= 0 && begin + size <= there) return in_.data() + begin;
    const int64_t from = std::clamp<int64_t>(begin, 0, there), to = std::clamp<int64_t>(begin + size, from, there);
    std::fill_n(edge, size, 0.0f);
    std::copy(in_.data() + from, in_.data() + to, edge + (from - begin));
    return edge;
  }

  void weigh() {
    for (size_t bin = 0; bin < its_.gains_.size(); ++bin)
      for (size_t i = 0; i < 2 * kBlocks; ++i) bins_[bin * 2 * kBlocks + i] *= its_.gains_[bin];
  }

  // Writes what is asked for of some blocks' outputs.
  void give(uint64_t block, const float* result) {
    const size_t step = its_.out_step_;
    float* to[kSeries];
    for (size_t i = 0; i < kSeries; ++i) {
      const uint64_t at = (block + i) * step;
      const bool is_whole = at >= first_ && at + step <= first_ + out_.size();
      to[i] = is_whole ? out_.data() + (at - first_) : ends_ + i * step;
    }
    spread(result + its_.out_edge_ * kBlocks, step, kBlocks, to);
    for (size_t i = 0; i < kSeries; ++i) {
      const uint64_t at = (block + i) * step;
      const uint64_t from = std::max(at, first_), end = std::min(at + step, first_ + out_.size());
      const float* const part = ends_ + i * step;
      if (to[i] == part && from < end) std::copy(part + (from - at), part + (end - at), out_.data() + (from - first_));
    }
  }

  const BlockResampler& its_;
  const std::span<const float> in_;
  const uint64_t in_first_, first_;
  const std::span<float> out_;
  float *values_, *work_, *bins_, *edges_, *ends_;
};

void BlockResampler::run(std::span<const float> in, uint64_t in_first, uint64_t first, std::span<float> out,
                         ByteBuffer& memory) const {
  if (!out.empty()) Resampling(*this, in, in_first, first, out, memory).run();
}

}  // namespace spdld::audio
