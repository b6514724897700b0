#include "daemon/transform/image_program.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <span>

#include "daemon/base/result.h"
#include "daemon/transform/geometry.h"
#include "daemon/transform/resample.h"
#include "daemon/transform/tensor_rows.h"
#include "daemon/transform/weights.h"

namespace spdld::transform {
namespace {

constexpr size_t kAligned = 64;  // of scratch; the most that a vector of any machine in question wants

// A piece of scratch: `size` bytes from an aligned place.
uint8_t* aligned(ByteBuffer& memory, size_t size) {
  auto address = reinterpret_cast<uintptr_t>(memory.resize(size + 2 * kAligned));
  return reinterpret_cast<uint8_t*>((address + kAligned - 1) / kAligned * kAligned);
}

// Pixels of one pass's source: those of `covers`, of which `first` is the first.
struct Source {
  const uint8_t* first;
  size_t stride_bytes;
  Box covers;

  const uint8_t* at(int x, int y) const {
    return first + stride_bytes * static_cast<size_t>(y - covers.y) + 3 * static_cast<size_t>(x - covers.x);
  }
};

void mirror_row(const uint8_t* from, int width, uint8_t* to) {
  for (int x = 0; x < width; ++x) std::memcpy(to + 3 * (width - 1 - x), from + 3 * x, 3);
}

TensorFormat format_of(const config::OperationSpec& op, const Size& size) {
  TensorFormat format;
  format.size = size;
  const std::string& dtype = op.text("dtype");
  for (const auto type :
       {config::DType::kUint8, config::DType::kFloat16, config::DType::kBfloat16, config::DType::kFloat32}) {
    if (config::dtype_name(type) == dtype) format.dtype = type;
  }
  format.layout = op.text("layout") == "NCHW" ? config::Layout::kNchw : config::Layout::kNhwc;
  if (op.op == "convert") {
    format.factor.fill(static_cast<float>(op.number("scale")));
    return format;
  }
  for (size_t c = 0; c < 3; ++c) {
    const double mean = op.numbers("mean")[c], deviation = op.numbers("std")[c];
    format.factor[c] = static_cast<float>(1 / (255 * deviation));
    format.offset[c] = static_cast<float>(-mean / deviation);
  }
  return format;
}

bool ends_chain(const config::OperationSpec& op) { return op.op == "normalize" || op.op == "convert"; }

std::vector<int64_t> shape_of(const TensorFormat& format) {
  const int64_t width = format.size.width, height = format.size.height;
  if (format.layout == config::Layout::kNchw) return {3, height, width};
  return {height, width, 3};
}

}  // namespace

size_t SampleTensor::bytes() const {
  const auto elements = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  return static_cast<size_t>(elements) * config::dtype_bytes(dtype);
}

struct Scratch::Inside {
  AxisWeights horizontal, vertical;
  ByteBuffer columns, turned;  // of resample_band
  ByteBuffer band, padded;     // rows on their way out
  ByteBuffer pictures[2];      // between passes, in turn
};

Scratch::Scratch() : inside_(std::make_unique<Inside>()) {}
Scratch::~Scratch() = default;

namespace {

using Memory = Scratch::Inside;

// Runs one pass and gives its rows to sink(first_row, rows, rgb, stride_bytes), in order, each exactly once.
template <typename Sink>
class PassRun {
 public:
  PassRun(const Source& source, const Pass& pass, Memory& memory, Sink& sink)
      : source_(source), pass_(pass), inside_(inside_of(pass)), memory_(memory), sink_(sink) {
    width_bytes_ = static_cast<size_t>(pass.window.width) * 3;
    padded_ = inside_ != pass.window;
    const int left = inside_.x - pass.window.x, right = pass.window.width - inside_.width - left;
    left_bytes_ = static_cast<size_t>(pass.mirrored ? right : left) * 3;
    top_ = inside_.y - pass.window.y;
  }

  void run() {
    if (padded_) std::memset(memory_.padded.resize(width_bytes_ + PixelRows::kSlackBytes), 0, width_bytes_);
    for (int y = 0; y < top_; ++y) sink_(y, 1, memory_.padded.data(), size_t{0});
    if (resamples(pass_)) {
      resample();
    } else {
      copy();
    }
    if (!padded_) return;
    std::memset(memory_.padded.data(), 0, width_bytes_);
    for (int y = top_ + inside_.height; y < pass_.window.height; ++y) sink_(y, 1, memory_.padded.data(), size_t{0});
  }

 private:
  // Rows of the inside, from its row `first`.
  void emit(int first, int rows, const uint8_t* rgb, size_t stride_bytes) {
    if (!padded_) return sink_(top_ + first, rows, rgb, stride_bytes);
    for (int y = 0; y < rows; ++y, rgb += stride_bytes) {
      std::memcpy(memory_.padded.data() + left_bytes_, rgb, static_cast<size_t>(inside_.width) * 3);
      sink_(top_ + first + y, 1, memory_.padded.data(), size_t{0});
    }
  }

  void copy() {
    const uint8_t* first = source_.at(pass_.box.x + inside_.x, pass_.box.y + inside_.y);
    if (!pass_.mirrored) return emit(0, inside_.height, first, source_.stride_bytes);
    uint8_t* row = memory_.band.resize(static_cast<size_t>(inside_.width) * 3 + PixelRows::kSlackBytes);
    for (int y = 0; y < inside_.height; ++y, first += source_.stride_bytes) {
      mirror_row(first, inside_.width, row);
      emit(y, 1, row, 0);
    }
  }

  void resample() {
    memory_.horizontal.fill(
        {pass_.box.width, pass_.size.width, inside_.x, inside_.width, pass_.mirrored, pass_.antialias});
    memory_.vertical.fill({pass_.box.height, pass_.size.height, inside_.y, inside_.height, false, pass_.antialias});
    const SourceRange across = memory_.horizontal.range(), down = memory_.vertical.range();
    Band band;
    band.source = source_.at(pass_.box.x + across.first, pass_.box.y + down.first);
    band.source_stride_bytes = source_.stride_bytes;
    band.horizontal = &memory_.horizontal;
    band.vertical = &memory_.vertical;
    band.columns = reinterpret_cast<int16_t*>(
        aligned(memory_.columns, Band::columns_size(across.end - across.first) * sizeof(int16_t)));
    band.turned = aligned(memory_.turned, Band::turned_size(inside_.width));
    band.out_stride_bytes = Band::row_bytes(inside_.width);
    band.out = aligned(memory_.band, band.out_stride_bytes * kBandRows + PixelRows::kSlackBytes);
    for (int y = 0; y < inside_.height; y += kBandRows) {
      band.first_row = y;
      band.rows = std::min(kBandRows, inside_.height - y);
      resample_band(band);
      emit(y, band.rows, band.out, band.out_stride_bytes);
    }
  }

  const Source& source_;
  const Pass& pass_;
  const Box inside_;
  Memory& memory_;
  Sink& sink_;
  size_t width_bytes_, left_bytes_;
  int top_;
  bool padded_;
};

// One pass into a picture of its own, for the next pass.
Source run_between(const Source& source, const Pass& pass, Memory& memory, ByteBuffer& picture) {
  const size_t stride = static_cast<size_t>(pass.window.width) * 3;
  uint8_t* out = picture.resize(stride * static_cast<size_t>(pass.window.height) + PixelRows::kSlackBytes);
  auto sink = [&](int first, int rows, const uint8_t* rgb, size_t stride_bytes) {
    for (int y = first; y < first + rows; ++y, rgb += stride_bytes)
      std::memcpy(out + stride * static_cast<size_t>(y), rgb, stride);
  };
  PassRun(source, pass, memory, sink).run();
  return {out, stride, {0, 0, pass.window.width, pass.window.height}};
}

}  // namespace

struct ImageProgram::Inside {
  static std::span<const config::OperationSpec> middle(const config::OutputSpec& output) {
    if (output.ops.empty() || output.ops.front().op != "decode-image") {
      throw SetupError(Trouble::kUsage,
                       "output " + output.name + ": a chain of image operations begins with decode-image");
    }
    const std::span ops(output.ops);
    return ops.subspan(1, ops.size() - 1 - (ends_chain(ops.back()) ? 1 : 0));
  }

  explicit Inside(const config::OutputSpec& output)
      : plan(middle(output), output.name), exif(output.ops.front().flag("exif")) {
    format.size = plan.size();
    if (ends_chain(output.ops.back())) format = format_of(output.ops.back(), plan.size());
    tensor = {format.dtype, shape_of(format)};
  }

  GeometryPlan plan;
  bool exif;
  TensorFormat format;  // uint8 NHWC where the chain doesn't say
  SampleTensor tensor;
};

ImageProgram::ImageProgram(const config::OutputSpec& output) : inside_(std::make_unique<Inside>(output)) {}
ImageProgram::~ImageProgram() = default;
ImageProgram::ImageProgram(ImageProgram&&) noexcept = default;

const SampleTensor& ImageProgram::tensor() const { return inside_->tensor; }
bool ImageProgram::exif() const { return inside_->exif; }
const std::string& ImageProgram::box_name() const { return inside_->plan.box_name(); }

void ImageProgram::resolve(const Size& picture, const Draws& draws, Geometry& geometry) const {
  inside_->plan.resolve(picture, draws, geometry);
}

void ImageProgram::render(const PixelRows& rows, const Geometry& geometry, Scratch& scratch, uint8_t* out) const {
  Memory& memory = scratch.inside();
  Source source{rows.memory.data() + rows.offset, rows.stride_bytes, rows.covers};
  const size_t last = geometry.passes.size() - 1;
  for (size_t i = 0; i < last; ++i) source = run_between(source, geometry.passes[i], memory, memory.pictures[i % 2]);
  auto sink = [&](int first, int count, const uint8_t* rgb, size_t stride_bytes) {
    write_rows(inside_->format, rgb, stride_bytes, first, count, out);
  };
  PassRun(source, geometry.passes[last], memory, sink).run();
}

std::vector<std::string> image_operations() {
  return {"decode-image", "resize", "center-crop", "random-resized-crop", "horizontal-flip", "normalize", "convert"};
}

}  // namespace spdld::transform
