#include "daemon/media/image/programs/image_program.h"

#include <algorithm>
#include <cstring>

#include "daemon/media/image/programs/pass_run.h"
#include "daemon/media/image/programs/scratch_inside.h"

namespace spdld::image {

Scratch::Scratch() : inside_(std::make_unique<Inside>()) {}
Scratch::~Scratch() = default;
void Scratch::set_work(media::WorkTimer* timer, media::WorkGuard* guard) {
  inside_->guard = guard;
  inside_->adjuster.set_work(timer, guard);
}

namespace {

using Memory = Scratch::Inside;

class IntoPicture final : public RowSink {
 public:
  IntoPicture(uint8_t* out, size_t stride_bytes) : out_(out), stride_bytes_(stride_bytes) {}
  void take(int first_row, int rows, const RowsView& view) override {
    for (int y = 0; y < rows; ++y)
      std::memcpy(out_ + stride_bytes_ * static_cast<size_t>(first_row + y),
                  view.first + view.stride_bytes * static_cast<size_t>(y), stride_bytes_);
  }

 private:
  uint8_t* const out_;
  const size_t stride_bytes_;
};

class IntoTensor final : public RowSink {
 public:
  IntoTensor(const TensorFormat& format, uint8_t* out) : format_(format), out_(out) {}
  void take(int first_row, int rows, const RowsView& view) override {
    write_rows(format_, view, first_row, rows, out_);
  }

 private:
  const TensorFormat& format_;
  uint8_t* const out_;
};

PassSource whole_picture(const PixelFormat& format, const Size& size, ByteBuffer& memory) {
  const size_t stride = static_cast<size_t>(size.width) * static_cast<size_t>(format.pixel_bytes());
  return {format, nullptr, memory.data(), stride, {0, 0, size.width, size.height}, 1, &memory};
}

// One pass into a picture of its own, for the next pass.
PassSource run_between(const PassSource& source, const Pass& pass, Memory& memory, ByteBuffer& picture) {
  const size_t stride = static_cast<size_t>(pass.window.width) * source.pixel_bytes();
  uint8_t* out = picture.resize(stride * static_cast<size_t>(pass.window.height) + PixelRows::kSlackBytes);
  IntoPicture sink(out, stride);
  run_pass(source, pass, memory, false, sink);
  return whole_picture(source.format, shown(pass), picture);
}

// Whether the first pass that resamples has another filter than the kernels', or is to start from RGB.
bool takes_rows(const Geometry& geometry) {
  const auto& passes = has_pieces_of_source(geometry) ? geometry.pieces : geometry.passes;
  const auto first = std::find_if(passes.begin(), passes.end(), resamples);
  return first != passes.end() && (geometry.as_pillow || !is_bilinear(*first));
}

// The same pixels in rows, for a first pass whose filter takes no planes. Luma is a row of grey as it lies.
PassSource rows_of(const PassSource& source, const Box& needed, Memory& memory) {
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
PassSource run_whole(const PassSource& source, const Geometry& geometry, size_t at, Memory& memory) {
  const Pass& pass = geometry.passes[at];
  auto& [first, second] = memory.pictures;
  const PassSource made = source.memory != nullptr && is_untouched(pass)
                              ? source
                              : run_between(source, pass, memory, source.memory == &first ? second : first);
  if (!pass.adjusted) return made;
  AdjustedPicture picture{*made.memory, shown(pass), made.format.channels};
  memory.adjuster.run(geometry.adjustments, at, picture);
  const PixelFormat format{picture.channels, made.format.sample_bytes};
  return whole_picture(format, picture.size, *made.memory);
}

// Each piece becomes a picture of the tensor, one behind the other.
void run_pieces(PassSource source, const Geometry& geometry, const TensorFormat& format, Memory& memory, uint8_t* out) {
  if (!has_pieces_of_source(geometry))
    for (size_t i = 0; i < geometry.passes.size(); ++i) source = run_whole(source, geometry, i, memory);
  for (const Pass& piece : geometry.pieces) {
    IntoTensor sink(format, out);
    run_pass(source, piece, memory, prefers_planes(format), sink);
    out += bytes_of(format);
  }
  flush_rows();
}

void run_passes(PassSource source, const Geometry& geometry, const TensorFormat& format, Memory& memory, uint8_t* out) {
  const size_t last = geometry.passes.size() - 1;
  if (source.planes != nullptr && takes_rows(geometry)) source = rows_of(source, geometry.decoded, memory);
  if (!geometry.pieces.empty()) return run_pieces(source, geometry, format, memory, out);
  for (size_t i = 0; i < last; ++i) source = run_whole(source, geometry, i, memory);
  if (geometry.passes[last].adjusted) {
    source = run_whole(source, geometry, last, memory);
    write_rows(format, {source.first, source.stride_bytes, 0}, 0, format.size.height, out);
    return flush_rows();
  }
  IntoTensor sink(format, out);
  run_pass(source, geometry.passes[last], memory, prefers_planes(format), sink);
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

bool ImageProgram::takes_planes(const Geometry& geometry) { return !takes_rows(geometry); }

void ImageProgram::render(const PixelRows& rows, const Geometry& geometry, Scratch& scratch, uint8_t* out) const {
  const PassSource source{rows.format, nullptr, rows.memory.data() + rows.offset, rows.stride_bytes, rows.covers};
  run_passes(source, geometry, format_of(geometry), scratch.inside(), out);
}

void ImageProgram::render(const PlanesView& planes, const Geometry& geometry, Scratch& scratch, uint8_t* out) const {
  const Size& size = planes.shape.picture;
  const PassSource source{decoded_, &planes, nullptr, 0, {0, 0, size.width, size.height}, geometry.reduction};
  run_passes(source, geometry, format_of(geometry), scratch.inside(), out);
}

}  // namespace spdld::image
