#include "daemon/media/image/programs/pass_bands.h"

#include <algorithm>

namespace spdld::image {
namespace {

// Weights, and the sample of a plane from which their range counts.
struct PlaneAxis {
  const AxisWeights* weights;
  int origin;
};

// Chroma that has half as many samples as luma. Of a reduced picture it is resampled from where it lies, as nobody
// expects libjpeg's upsampling there, which would only blur it.
PlaneAxis halved(AxisRequest request, int box_first, const PlaneAxis& luma, const HalvedAxis& axis,
                 AxisWeights& weights) {
  if (request.reduction == 1) {
    weights.fill(*luma.weights, axis);
    return {&weights, 0};
  }
  request.reduction *= 2;
  request.phase = box_first % request.reduction;
  weights.fill(request);
  return {&weights, box_first / request.reduction};
}

class BandTaker {
 public:
  BandTaker(const PassSource& source, const Pass& pass, Scratch::Inside& memory)
      : source_(source),
        pass_(pass),
        memory_(memory),
        left_(pass.box.x / source.reduction),
        upper_(pass.box.y / source.reduction) {}

  // Asks for the first band's rows, which come while the weights are computed; the kernel asks for the other rows.
  void prefetch(const PlanesView& view, const SourceRange& across, const SourceRange& down, int wanted_rows) const {
    constexpr int kLine = 64, kRowsMax = 4 * kBandRows;
    for (int i = 0; i < view.shape.planes(); ++i) {
      const auto at = static_cast<size_t>(i);
      const int narrower = i == 0 ? 1 : view.shape.chroma_across, lower = i == 0 ? 1 : view.shape.chroma_down;
      const int rows = std::min((down.end - down.first) * kBandRows / wanted_rows + 2, kRowsMax) / lower;
      const int x = (left_ + across.first) / narrower, width = (across.end - across.first) / narrower;
      const size_t y = static_cast<size_t>(upper_ + down.first) / static_cast<size_t>(lower);
      const uint8_t* row = view.plane[at] + view.stride_bytes[at] * y + x;
      for (int n = 0; n < rows; ++n, row += view.stride_bytes[at]) {
        for (int byte = 0; byte < width + kLine; byte += kLine) __builtin_prefetch(row + byte);
      }
    }
  }

  Band of_rows() const {
    Band band;
    if (source_.is_grey()) band.colours = Band::Colours::kGrey;
    const SourceRange across = memory_.horizontal.range(), down = memory_.vertical.range();
    const uint8_t* first = source_.at(pass_.box.x + across.first, pass_.box.y + down.first);
    band.sources[0] = {first, source_.stride_bytes, &memory_.vertical, &memory_.horizontal, nullptr};
    const size_t size = BandSource::columns_size(band.sources[0].width() * source_.format.channels);
    band.sources[0].columns = reinterpret_cast<int16_t*>(aligned(memory_.columns, size * sizeof(int16_t)));
    return band;
  }

  // Of a picture in colours that is to be grey, luma is taken alone.
  Band of_planes(const PlanesView& view, const AxisRequest& across, const AxisRequest& down) const {
    Band band;
    PlanesShape shape = view.shape;
    shape.grey |= source_.is_grey();
    band.colours = shape.grey ? Band::Colours::kGrey : Band::Colours::kYcc;
    if (view.colours != nullptr) {
      memory_.colours = fixed_colours(*view.colours);
      band.tagged = &memory_.colours;
    }
    const Size chroma = shape.plane(1);
    const PlaneAxis luma[2] = {{&memory_.horizontal, left_}, {&memory_.vertical, upper_}};
    PlaneAxis chromas[2] = {luma[0], luma[1]};
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
    place_columns(band, size);
    return band;
  }

 private:
  // Divides scratch of `size` elements among the sources.
  void place_columns(Band& band, size_t size) const {
    auto* columns = reinterpret_cast<int16_t*>(aligned(memory_.columns, size * sizeof(int16_t)));
    for (BandSource& from : band.sources) {
      if (from.first == nullptr) break;
      from.columns = columns;
      columns += BandSource::columns_size(from.width());
    }
  }

  const PassSource& source_;
  const Pass& pass_;
  Scratch::Inside& memory_;
  const int left_, upper_;  // where the box begins, in the source's samples
};

}  // namespace

Band band_of(const PassSource& source, const Pass& pass, const Box& inside, Scratch::Inside& memory) {
  const BandTaker taker(source, pass, memory);
  const AxisRequest across = across_of(pass, source.reduction), down = down_of(pass, source.reduction);
  if (source.planes != nullptr) taker.prefetch(*source.planes, source_range(across), source_range(down), inside.height);
  memory.horizontal.fill(across);
  memory.vertical.fill(down);
  return source.planes == nullptr ? taker.of_rows() : taker.of_planes(*source.planes, across, down);
}

}  // namespace spdld::image
