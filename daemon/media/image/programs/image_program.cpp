#include "daemon/media/image/programs/image_program.h"

#include <algorithm>
#include <cstring>

#include "daemon/media/image/kernels/pixel_moves.h"
#include "daemon/media/image/kernels/planes_rows.h"
#include "daemon/media/image/kernels/resample.h"
#include "daemon/media/image/kernels/resample_any.h"
#include "daemon/media/image/kernels/resample_fixed.h"
#include "daemon/media/image/kernels/weights.h"

namespace spdld::image {
namespace {

constexpr uint64_t kSamplesInANs = 4;  // that a resampling takes, about
constexpr int kAnyIsDearer = 8;        // the resampling of any pixels, than that
constexpr size_t kAligned = 64;        // of scratch; the most that a vector of any machine in question wants

// A piece of scratch: `size` bytes from an aligned place.
uint8_t* aligned(ByteBuffer& memory, size_t size) {
  auto address = reinterpret_cast<uintptr_t>(memory.resize(size + 2 * kAligned));
  return reinterpret_cast<uint8_t*>((address + kAligned - 1) / kAligned * kAligned);
}

// One pass's source: the planes of a whole picture, reduced or not; or else the pixels of `covers`, and `first` is
// the first of them.
struct Source {
  PixelFormat format;  // of the pass's pixels, whatever its source is
  const PlanesView* planes;
  const uint8_t* first;
  size_t stride_bytes;
  Box covers;
  int reduction = 1;             // of the planes
  ByteBuffer* memory = nullptr;  // of a picture between passes, which nobody else reads

  const uint8_t* at(int x, int y) const {
    return first + stride_bytes * static_cast<size_t>(y - covers.y) + pixel_bytes() * static_cast<size_t>(x - covers.x);
  }
  size_t pixel_bytes() const { return static_cast<size_t>(format.pixel_bytes()); }
  bool is_grey() const { return format == PixelFormat{1, 1}; }
  // The kernels of resample.h take RGB, grey and planes, of 8 bits.
  bool has_kernels() const { return is_grey() || format == PixelFormat(); }
};

}  // namespace

struct Scratch::Inside {
  AxisWeights horizontal, vertical;                // of RGB, or luma
  AxisWeights chroma_horizontal, chroma_vertical;  // where chroma is smaller
  AnyResampler any;                                // of other pixels
  FixedResampler fixed;                            // by other filters
  std::vector<int> nearest;                        // pixels of a row
  std::vector<int> nearest_rows;
  PlanesRows rows;             // of planes, for other filters
  ByteBuffer columns, turned;  // of resample_band
  ByteBuffer band, padded;     // rows on their way out
  ByteBuffer pictures[2];      // between passes, in turn
  TaggedColours colours;       // of a video
  Adjuster adjuster;
  media::WorkGuard* guard = nullptr;  // of the sample that is worked on
};

Scratch::Scratch() : inside_(std::make_unique<Inside>()) {}
Scratch::~Scratch() = default;
void Scratch::set_work(media::WorkTimer* timer, media::WorkGuard* guard) {
  inside_->guard = guard;
  inside_->adjuster.set_work(timer, guard);
}

namespace {

using Memory = Scratch::Inside;

// Runs one pass and gives its rows to sink(first_row, rows, RowsView), in any order, each exactly once; in planes only
// where `planar` asks for them.
template <typename Sink>
class PassRun {
 public:
  PassRun(const Source& source, const Pass& pass, Memory& memory, bool planar, Sink& sink)
      : source_(source),
        pass_(pass),
        inside_(inside_of(pass)),
        left_(pass.box.x / source.reduction),
        upper_(pass.box.y / source.reduction),
        memory_(memory),
        sink_(sink) {
    pixel_bytes_ = source.pixel_bytes();
    width_bytes_ = static_cast<size_t>(pass.window.width) * pixel_bytes_;
    padded_ = inside_ != pass.window;
    planar_ = planar && !padded_;
    const int left = inside_.x - pass.window.x, right = pass.window.width - inside_.width - left;
    left_bytes_ = static_cast<size_t>(pass.mirrored ? right : left) * pixel_bytes_;
    top_ = inside_.y - pass.window.y;
  }

  void run() {
    if (memory_.guard != nullptr) memory_.guard->doing("resample");
    if (padded_) std::memset(memory_.padded.resize(width_bytes_ + PixelRows::kSlackBytes), 0, width_bytes_);
    if (is_black(pass_)) return give(0, pass_.window.height, padded_row());
    for (int y = 0; y < top_; ++y) give(y, 1, padded_row());
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
    if (!padded_) return;
    std::memset(memory_.padded.data(), 0, width_bytes_);
    for (int y = top_ + inside_.height; y < pass_.window.height; ++y) give(y, 1, padded_row());
  }

 private:
  RowsView padded_row() const { return {memory_.padded.data(), 0, 0}; }

  // Rows of the window before it is flipped, from its row `first`.
  void give(int first, int rows, const RowsView& view) {
    if (!pass_.flipped) return sink_(first, rows, view);
    RowsView row = view;
    for (int y = 0; y < rows; ++y, row.first += view.stride_bytes) sink_(pass_.window.height - 1 - first - y, 1, row);
  }

  // Rows of the inside, from its row `first`.
  void emit(int first, int rows, const RowsView& rgb) {
    if (!padded_) return give(top_ + first, rows, rgb);
    const uint8_t* row = rgb.first;
    for (int y = 0; y < rows; ++y, row += rgb.stride_bytes) {
      std::memcpy(memory_.padded.data() + left_bytes_, row, static_cast<size_t>(inside_.width) * pixel_bytes_);
      give(top_ + first + y, 1, padded_row());
    }
  }

  void copy() {
    const uint8_t* first = source_.at(pass_.box.x + inside_.x, pass_.box.y + inside_.y);
    if (!pass_.mirrored) return copy_rows(first);
    uint8_t* row = memory_.band.resize(static_cast<size_t>(inside_.width) * pixel_bytes_ + PixelRows::kSlackBytes);
    for (int y = 0; y < inside_.height; ++y, first += source_.stride_bytes) {
      spend(1);
      mirror_row(first, inside_.width, pixel_bytes_, row);
      emit(y, 1, {row, 0, 0});
    }
  }

  // Planes of a video. Nobody expects libjpeg's pixels of them.
  bool has_own_colours() const { return source_.planes != nullptr && source_.planes->colours != nullptr; }

  // The same as copy(), from planes.
  void convert() {
    const PlanesView& planes = *source_.planes;
    const size_t row_bytes = static_cast<size_t>(inside_.width) * pixel_bytes_ + PixelRows::kSlackBytes;
    uint8_t* const rgb = memory_.band.resize(2 * row_bytes);
    uint8_t* const mirrored = rgb + row_bytes;
    Box row{pass_.box.x + inside_.x, pass_.box.y + inside_.y, inside_.width, 1};
    for (int y = 0; y < inside_.height; ++y, ++row.y) {
      spend(1);
      const uint8_t* pixels = planes.plane[0] + planes.stride_bytes[0] * static_cast<size_t>(row.y) + row.x;
      if (!source_.is_grey()) memory_.rows.write(planes, row, rgb), pixels = rgb;
      if (pass_.mirrored) mirror_row(pixels, inside_.width, pixel_bytes_, mirrored), pixels = mirrored;
      emit(y, 1, {pixels, 0, 0});
    }
  }

  void copy_rows(const uint8_t* first) {
    constexpr size_t kBytes = 1 << 20;  // at once
    const auto row_bytes = std::max<size_t>(static_cast<size_t>(inside_.width) * pixel_bytes_, 1);
    const int rows = static_cast<int>(std::max<size_t>(kBytes / row_bytes, 1));
    for (int y = 0; y < inside_.height; y += rows, first += source_.stride_bytes * static_cast<size_t>(rows)) {
      const int count = std::min(rows, inside_.height - y);
      spend(count);
      emit(y, count, {first, source_.stride_bytes, 0});
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

  // Asks for the first band's rows, which come while the weights are computed; the kernel asks for the other rows.
  void prefetch_planes(const PlanesView& view, const SourceRange& across, const SourceRange& down) const {
    constexpr int kLine = 64, kRowsMax = 4 * kBandRows;
    for (int i = 0; i < view.shape.planes(); ++i) {
      const auto at = static_cast<size_t>(i);
      const int narrower = i == 0 ? 1 : view.shape.chroma_across, lower = i == 0 ? 1 : view.shape.chroma_down;
      const int rows = std::min((down.end - down.first) * kBandRows / inside_.height + 2, kRowsMax) / lower;
      const int x = (left_ + across.first) / narrower, width = (across.end - across.first) / narrower;
      const size_t y = static_cast<size_t>(upper_ + down.first) / static_cast<size_t>(lower);
      const uint8_t* row = view.plane[at] + view.stride_bytes[at] * y + x;
      for (int n = 0; n < rows; ++n, row += view.stride_bytes[at]) {
        for (int byte = 0; byte < width + kLine; byte += kLine) __builtin_prefetch(row + byte);
      }
    }
  }

  void take_rows(Band& band) {
    if (source_.is_grey()) band.colours = Band::Colours::kGrey;
    const SourceRange across = memory_.horizontal.range(), down = memory_.vertical.range();
    const uint8_t* first = source_.at(pass_.box.x + across.first, pass_.box.y + down.first);
    band.sources[0] = {first, source_.stride_bytes, &memory_.vertical, &memory_.horizontal, nullptr};
    const size_t size = BandSource::columns_size(band.sources[0].width() * source_.format.channels);
    band.sources[0].columns = reinterpret_cast<int16_t*>(aligned(memory_.columns, size * sizeof(int16_t)));
  }

  // Weights, and the sample of a plane from which their range counts.
  struct Axis {
    const AxisWeights* weights;
    int origin;
  };

  // Of a picture in colours that is to be grey, luma is taken alone.
  void take_planes(const PlanesView& view, const AxisRequest& across, const AxisRequest& down, Band& band) {
    PlanesShape shape = view.shape;
    shape.grey |= source_.is_grey();
    band.colours = shape.grey ? Band::Colours::kGrey : Band::Colours::kYcc;
    const Size chroma = shape.plane(1);
    const Axis luma[2] = {{&memory_.horizontal, left_}, {&memory_.vertical, upper_}};
    Axis chromas[2] = {luma[0], luma[1]};
    if (view.colours != nullptr) {
      memory_.colours = fixed_colours(*view.colours);
      band.tagged = &memory_.colours;
    }
    // libjpeg does not smooth chroma of at most two columns that it widens (jdsample.c, jinit_upsampler).
    const bool smooth = shape.chroma_across == 1 || chroma.width > 2;
    if (!shape.grey && shape.chroma_across == 2) {
      chromas[0] = halved(across, pass_.box.x, luma[0], {chroma.width, left_, smooth}, memory_.chroma_horizontal);
    }
    if (!shape.grey && shape.chroma_down == 2) {
      chromas[1] = halved(down, pass_.box.y, luma[1], {chroma.height, upper_, smooth}, memory_.chroma_vertical);
    }
    size_t size = 0;
    for (int i = 0; i < shape.planes(); ++i) {
      const auto at = static_cast<size_t>(i);
      BandSource& from = band.sources[at];
      const auto& [horizontal, vertical] = i == 0 ? luma : chromas;
      from.horizontal = horizontal.weights;
      from.vertical = vertical.weights;
      from.stride_bytes = view.stride_bytes[at];
      const int x = horizontal.origin + from.horizontal->range().first;
      const int y = vertical.origin + from.vertical->range().first;
      from.first = view.plane[at] + from.stride_bytes * static_cast<size_t>(y) + x;
      size += BandSource::columns_size(from.width());
    }
    auto* columns = reinterpret_cast<int16_t*>(aligned(memory_.columns, size * sizeof(int16_t)));
    for (BandSource& from : band.sources) {
      if (from.first == nullptr) break;
      from.columns = columns;
      columns += BandSource::columns_size(from.width());
    }
  }

  // Chroma that has half as many samples as luma. Of a reduced picture it is resampled from where it lies, as nobody
  // expects libjpeg's upsampling there, which would only blur it.
  Axis halved(AxisRequest request, int box_first, const Axis& luma, const HalvedAxis& axis,
              AxisWeights& weights) const {
    if (request.reduction == 1) {
      weights.fill(*luma.weights, axis);
      return {&weights, 0};
    }
    request.reduction *= 2;
    request.phase = box_first % request.reduction;
    weights.fill(request);
    return {&weights, box_first / request.reduction};
  }

  AxisRequest across() const { return across_of(pass_, source_.reduction); }
  AxisRequest down() const { return down_of(pass_, source_.reduction); }
  template <typename Resampler>
  const uint8_t* first_of(const Resampler& resampler) const {
    return source_.at(pass_.box.x + resampler.across().first, pass_.box.y + resampler.down().first);
  }
  uint8_t* one_row() const {
    return aligned(memory_.band, static_cast<size_t>(inside_.width) * pixel_bytes_ + PixelRows::kSlackBytes);
  }

  void resample_any() {
    memory_.any.begin(across(), down());
    const uint8_t* first = first_of(memory_.any);
    uint8_t* row = one_row();
    for (int y = 0; y < inside_.height; ++y) {
      spend(kAnyIsDearer, memory_.any.across(), memory_.any.down());
      memory_.any.row(source_.format, first, source_.stride_bytes, y, row);
      emit(y, 1, {row, 0, 0});
    }
  }

  void resample_fixed() {
    memory_.fixed.begin(across(), down(), source_.format.channels);
    const uint8_t* first = first_of(memory_.fixed);
    uint8_t* row = one_row();
    for (int y = 0; y < inside_.height; ++y) {
      spend(1, memory_.fixed.across(), memory_.fixed.down());
      memory_.fixed.next_row(first, source_.stride_bytes, row);
      emit(y, 1, {row, 0, 0});
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
      emit(y, 1, {row, 0, 0});
    }
  }

  // By another filter than the kernels'. The source has rows.
  void resample_filtered() {
    if (pass_.filter == Filter::kNearest) return take_nearest();
    if (pass_.antialias && source_.format.sample_bytes == 1) return resample_fixed();
    resample_any();
  }

  void resample() {
    const AxisRequest across = this->across(), down = this->down();
    if (source_.planes != nullptr) prefetch_planes(*source_.planes, source_range(across), source_range(down));
    memory_.horizontal.fill(across);
    memory_.vertical.fill(down);
    Band band;
    if (source_.planes == nullptr) {
      take_rows(band);
    } else {
      take_planes(*source_.planes, across, down, band);
    }
    band.layout = {planar_ || source_.is_grey(), inside_.width, source_.is_grey()};
    const size_t row_bytes = band.layout.bytes();
    band.turned = aligned(memory_.turned, row_bytes * kBandRows);
    band.out = aligned(memory_.band, row_bytes * kBandRows + PixelRows::kSlackBytes);
    for (int y = 0; y < inside_.height; y += kBandRows) {
      band.first_row = y;
      band.rows = std::min(kBandRows, inside_.height - y);
      spend(band.rows, memory_.horizontal.range(), memory_.vertical.range());
      resample_band(band);
      emit(y, band.rows, {band.out, row_bytes, band.layout.plane_bytes()});
    }
  }

  const Source& source_;
  const Pass& pass_;
  const Box inside_;
  const int left_, upper_;  // where the box begins, in the source's samples
  Memory& memory_;
  Sink& sink_;
  size_t pixel_bytes_, width_bytes_, left_bytes_;
  int top_;
  bool padded_, planar_;
};

Source whole_picture(const PixelFormat& format, const Size& size, ByteBuffer& memory) {
  const size_t stride = static_cast<size_t>(size.width) * static_cast<size_t>(format.pixel_bytes());
  return {format, nullptr, memory.data(), stride, {0, 0, size.width, size.height}, 1, &memory};
}

// One pass into a picture of its own, for the next pass.
Source run_between(const Source& source, const Pass& pass, Memory& memory, ByteBuffer& picture) {
  const size_t stride = static_cast<size_t>(pass.window.width) * source.pixel_bytes();
  uint8_t* out = picture.resize(stride * static_cast<size_t>(pass.window.height) + PixelRows::kSlackBytes);
  auto sink = [&](int first, int rows, const RowsView& rgb) {
    for (int y = 0; y < rows; ++y)
      std::memcpy(out + stride * static_cast<size_t>(first + y), rgb.first + rgb.stride_bytes * static_cast<size_t>(y),
                  stride);
  };
  PassRun(source, pass, memory, false, sink).run();
  return whole_picture(source.format, shown(pass), picture);
}

// Whether the first pass that resamples has another filter than the kernels', or is to start from RGB.
bool takes_rows(const Geometry& geometry) {
  const auto& passes = has_pieces_of_source(geometry) ? geometry.pieces : geometry.passes;
  const auto first = std::find_if(passes.begin(), passes.end(), resamples);
  return first != passes.end() && (geometry.as_pillow || !is_bilinear(*first));
}

// The same pixels in rows, for a first pass whose filter takes no planes. Luma is a row of grey as it lies.
Source rows_of(const Source& source, const Box& needed, Memory& memory) {
  const PlanesView& planes = *source.planes;
  if (source.is_grey()) return {source.format, nullptr, planes.plane[0], planes.stride_bytes[0], source.covers};
  const size_t stride = source.pixel_bytes() * static_cast<size_t>(needed.width);
  uint8_t* rows = memory.pictures[1].resize(stride * static_cast<size_t>(needed.height) + PixelRows::kSlackBytes);
  constexpr int kRows = 64;  // at once
  for (Box part = needed; part.y < needed.y + needed.height; part.y += kRows) {
    part.height = std::min(kRows, needed.y + needed.height - part.y);
    media::spend(memory.guard, static_cast<uint64_t>(part.height) * stride, kSamplesInANs);
    memory.rows.write(planes, part, rows + stride * static_cast<size_t>(part.y - needed.y));
  }
  return {source.format, nullptr, rows, stride, needed};
}

// One pass into a picture of its own, and the adjustments behind the pass.
Source run_whole(const Source& source, const Geometry& geometry, size_t at, Memory& memory) {
  const Pass& pass = geometry.passes[at];
  auto& [first, second] = memory.pictures;
  const Source made = source.memory != nullptr && is_untouched(pass)
                          ? source
                          : run_between(source, pass, memory, source.memory == &first ? second : first);
  if (!pass.adjusted) return made;
  AdjustedPicture picture{*made.memory, shown(pass), made.format.channels};
  memory.adjuster.run(geometry.adjustments, at, picture);
  const PixelFormat format{picture.channels, made.format.sample_bytes};
  return whole_picture(format, picture.size, *made.memory);
}

// Each piece becomes a picture of the tensor, one behind the other.
void run_pieces(Source source, const Geometry& geometry, const TensorFormat& format, Memory& memory, uint8_t* out) {
  if (!has_pieces_of_source(geometry))
    for (size_t i = 0; i < geometry.passes.size(); ++i) source = run_whole(source, geometry, i, memory);
  for (const Pass& piece : geometry.pieces) {
    auto sink = [&](int first, int rows, const RowsView& rgb) { write_rows(format, rgb, first, rows, out); };
    PassRun(source, piece, memory, prefers_planes(format), sink).run();
    out += bytes_of(format);
  }
  flush_rows();
}

void run_passes(Source source, const Geometry& geometry, const TensorFormat& format, Memory& memory, uint8_t* out) {
  const size_t last = geometry.passes.size() - 1;
  if (source.planes != nullptr && takes_rows(geometry)) source = rows_of(source, geometry.decoded, memory);
  if (!geometry.pieces.empty()) return run_pieces(source, geometry, format, memory, out);
  for (size_t i = 0; i < last; ++i) source = run_whole(source, geometry, i, memory);
  if (geometry.passes[last].adjusted) {
    source = run_whole(source, geometry, last, memory);
    write_rows(format, {source.first, source.stride_bytes, 0}, 0, format.size.height, out);
    return flush_rows();
  }
  auto sink = [&](int first, int rows, const RowsView& rgb) { write_rows(format, rgb, first, rows, out); };
  PassRun(source, geometry.passes[last], memory, prefers_planes(format), sink).run();
  flush_rows();
}

}  // namespace

GeometrySteps ImageProgram::take(size_t count) {
  const auto first = steps_.end() - static_cast<std::ptrdiff_t>(count);
  GeometrySteps taken(std::make_move_iterator(first), std::make_move_iterator(steps_.end()));
  steps_.erase(first, steps_.end());
  return taken;
}

void ImageProgram::resolve(const Size& picture, const Draws& draws, Geometry& geometry) const {
  geometry.as_pillow = as_pillow_;
  image::resolve(steps_, picture, draws, geometry);
  if (fast_) geometry.reduction = reduction_of(geometry);
}

TensorFormat ImageProgram::format_of(const Geometry& geometry) const {
  TensorFormat format = format_;
  if (format.size == Size()) format.size = shown(geometry.passes.back());
  return format;
}

bool ImageProgram::takes_planes(const Geometry& geometry) const { return !takes_rows(geometry); }

void ImageProgram::render(const PixelRows& rows, const Geometry& geometry, Scratch& scratch, uint8_t* out) const {
  const Source source{rows.format, nullptr, rows.memory.data() + rows.offset, rows.stride_bytes, rows.covers};
  run_passes(source, geometry, format_of(geometry), scratch.inside(), out);
}

void ImageProgram::render(const PlanesView& planes, const Geometry& geometry, Scratch& scratch, uint8_t* out) const {
  const Size& size = planes.shape.picture;
  const Source source{decoded_, &planes, nullptr, 0, {0, 0, size.width, size.height}, geometry.reduction};
  run_passes(source, geometry, format_of(geometry), scratch.inside(), out);
}

}  // namespace spdld::image
