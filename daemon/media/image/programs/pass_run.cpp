#include "daemon/media/image/programs/pass_run.h"
#include "config/steps.h"

#include <algorithm>

#include "daemon/media/image/kernels/pixel_moves.h"
#include "daemon/media/image/programs/pass_bands.h"

namespace spdld::image {
namespace {

constexpr int kAnyIsDearer = 8;  // the resampling of any pixels, than that of RGB

class PassRun {
 public:
  PassRun(const PassSource& source, const Pass& pass, Scratch::Inside& memory, bool planar, RowSink& sink)
      : source_(source),
        pass_(pass),
        inside_(inside_of(pass)),
        memory_(memory),
        pixel_bytes_(source.pixel_bytes()),
        rows_(pass, inside_, pixel_bytes_, memory.padded, sink),
        planar_(planar && !rows_.is_padded()) {}

  void run() {
    if (memory_.guard != nullptr) memory_.guard->doing(config::kResampleStep.name);
    if (is_black(pass_)) return rows_.give_black();
    rows_.begin();
    if (!is_bilinear(pass_)) {
      resample_filtered();
    } else if (source_.planes == nullptr && resamples(pass_) && !source_.has_kernels()) {
      resample_any();
    } else if (resamples(pass_) || has_own_colours()) {
      resample();
    } else if (source_.planes != nullptr) {
      convert();
    } else {
      copy();
    }
    rows_.end();
  }

 private:
  // One row of the inside, from its row `y`.
  void give(int y, const uint8_t* row) { rows_.take(y, 1, {row, 0, 0}); }

  void copy() {
    const uint8_t* first = source_.at(pass_.box.x + inside_.x, pass_.box.y + inside_.y);
    if (!pass_.mirrored) return copy_rows(first);
    uint8_t* row = memory_.band.resize(row_bytes());
    for (int y = 0; y < inside_.height; ++y, first += source_.stride_bytes) {
      spend(1);
      mirror_row(first, inside_.width, pixel_bytes_, row);
      give(y, row);
    }
  }

  // Planes of a video. Nobody expects libjpeg's pixels of them.
  bool has_own_colours() const { return source_.planes != nullptr && source_.planes->colours != nullptr; }

  // Copies pixels that are made of planes.
  void convert() {
    const PlanesView& planes = *source_.planes;
    uint8_t* const rgb = memory_.band.resize(2 * row_bytes());
    uint8_t* const mirrored = rgb + row_bytes();
    Box row{pass_.box.x + inside_.x, pass_.box.y + inside_.y, inside_.width, 1};
    for (int y = 0; y < inside_.height; ++y, ++row.y) {
      spend(1);
      const uint8_t* pixels = planes.plane[0] + planes.stride_bytes[0] * static_cast<size_t>(row.y) + row.x;
      if (!source_.is_grey()) {
        memory_.rows.write(planes, row, rgb);
        pixels = rgb;
      }
      if (pass_.mirrored) {
        mirror_row(pixels, inside_.width, pixel_bytes_, mirrored);
        pixels = mirrored;
      }
      give(y, pixels);
    }
  }

  void copy_rows(const uint8_t* first) {
    constexpr size_t kBytes = 1 << 20;  // at once
    const auto row_bytes = std::max<size_t>(static_cast<size_t>(inside_.width) * pixel_bytes_, 1);
    const int rows = static_cast<int>(std::max<size_t>(kBytes / row_bytes, 1));
    for (int y = 0; y < inside_.height; y += rows, first += source_.stride_bytes * static_cast<size_t>(rows)) {
      const int count = std::min(rows, inside_.height - y);
      spend(count);
      rows_.take(y, count, {first, source_.stride_bytes, 0});
    }
  }

  // So many of the wanted rows come now, each of them out of so many source rows, pixels and taps.
  void spend(int rows) { spend(rows, {0, 0}, {0, 0}); }
  void spend(int rows, const SourceRange& across, const SourceRange& down) {
    if (memory_.guard == nullptr) return;
    const auto of = [](int64_t all, int part) { return static_cast<uint64_t>(all / std::max(part, 1) + 2); };
    const uint64_t source_rows = of(down.end - down.first, inside_.height),
                   taps = of(across.end - across.first, inside_.width);
    const auto source_width = static_cast<uint64_t>(across.end - across.first),
               width = static_cast<uint64_t>(inside_.width);
    memory_.guard->spend(static_cast<uint64_t>(rows) * pixel_bytes_ * (source_width * source_rows + width * taps) /
                         kSamplesInANs);
  }

  AxisRequest across() const { return across_of(pass_, source_.reduction); }
  AxisRequest down() const { return down_of(pass_, source_.reduction); }
  template <typename Resampler>
  const uint8_t* first_of(const Resampler& resampler) const {
    return source_.at(pass_.box.x + resampler.across().first, pass_.box.y + resampler.down().first);
  }
  // Of the inside, with what is read behind it.
  size_t row_bytes() const { return static_cast<size_t>(inside_.width) * pixel_bytes_ + PixelRows::kSlackBytes; }
  uint8_t* one_row() const { return aligned(memory_.band, row_bytes()); }

  void resample_any() {
    memory_.any.begin(across(), down());
    const uint8_t* first = first_of(memory_.any);
    uint8_t* row = one_row();
    for (int y = 0; y < inside_.height; ++y) {
      spend(kAnyIsDearer, memory_.any.across(), memory_.any.down());
      memory_.any.row(source_.format, first, source_.stride_bytes, y, row);
      give(y, row);
    }
  }

  void resample_fixed() {
    memory_.fixed.begin(across(), down(), source_.format.channels);
    const uint8_t* first = first_of(memory_.fixed);
    uint8_t* row = one_row();
    for (int y = 0; y < inside_.height; ++y) {
      spend(1, memory_.fixed.across(), memory_.fixed.down());
      memory_.fixed.next_row(first, source_.stride_bytes, row);
      give(y, row);
    }
  }

  void take_nearest() {
    nearest_pixels(across(), memory_.nearest);
    nearest_pixels(down(), memory_.nearest_rows);
    for (int& pixel : memory_.nearest) pixel += pass_.box.x - source_.covers.x;  // from the first that is there
    uint8_t* row = one_row();
    for (int y = 0; y < inside_.height; ++y) {
      spend(1);
      const uint8_t* from = source_.at(source_.covers.x, pass_.box.y + memory_.nearest_rows[static_cast<size_t>(y)]);
      pick_row(from, memory_.nearest, pixel_bytes_, row);
      give(y, row);
    }
  }

  // By another filter than the kernels'. The source has rows.
  void resample_filtered() {
    if (pass_.filter == Filter::kNearest) return take_nearest();
    if (pass_.antialias && source_.format.sample_bytes == 1) return resample_fixed();
    resample_any();
  }

  void resample() {
    Band band = band_of(source_, pass_, inside_, memory_);
    band.layout = {planar_ || source_.is_grey(), inside_.width, source_.is_grey()};
    const size_t row_bytes = band.layout.bytes();
    band.turned = aligned(memory_.turned, row_bytes * kBandRows);
    band.out = aligned(memory_.band, row_bytes * kBandRows + PixelRows::kSlackBytes);
    for (int y = 0; y < inside_.height; y += kBandRows) {
      band.first_row = y;
      band.rows = std::min(kBandRows, inside_.height - y);
      spend(band.rows, memory_.horizontal.range(), memory_.vertical.range());
      resample_band(band);
      rows_.take(y, band.rows, {band.out, row_bytes, band.layout.plane_bytes()});
    }
  }

  const PassSource& source_;
  const Pass& pass_;
  const Box inside_;
  Scratch::Inside& memory_;
  const size_t pixel_bytes_;
  PassRows rows_;
  const bool planar_;
};

}  // namespace

void run_pass(const PassSource& source, const Pass& pass, Scratch::Inside& memory, bool planar, RowSink& sink) {
  PassRun(source, pass, memory, planar, sink).run();
}

}  // namespace spdld::image
