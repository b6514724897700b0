// A chain of image operations, compiled once for an output, run once a sample by a decode thread, straight into the
// slot.
//
//   resolve:  the picture's size + the sample's draws -> what has to be decoded and how it is resampled (no pixels yet)
//   render:   decoded rows -> the sample's tensor at its place in the slot
//
// Resampling is Pillow's and torchvision's: separable, triangle filter, antialiased (support grows with the reduction)
// unless turned off, box edges clamp, pixel centres at half. Each pass of a chain is one resampling; flips and crops
// fold into the pass that they follow; a second resize starts a second pass. Every pass is rounded to 8 bits, as in a
// chain over Pillow's pictures: a float tensor has the same values as the uint8 tensor. The program itself is constant:
// any thread.
//
// An output whose chain does not end in normalize or convert is uint8 NHWC. random-resized-crop and horizontal-flip
// draw from the stream that their `draw` names, by default from a stream named as the operation. So two outputs of a
// sample share a crop unless they name different draws.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/spec.h"
#include "daemon/base/picture.h"
#include "daemon/base/planes.h"
#include "daemon/base/random.h"

namespace spdld::transform {

// One sample's tensor of an output.
struct SampleTensor {
  config::DType dtype = config::DType::kUint8;
  std::vector<int64_t> shape;  // without the batch
  size_t bytes() const;
};

// `box` of the source is resampled to `size`; its part `window` is kept, then mirrored or not. A window may reach
// outside of `size`: pixels there are black (a center-crop of a smaller picture).
struct Pass {
  Box box;
  Size size;
  Box window;
  bool mirrored = false;
  bool antialias = true;
};

// The decisions of resolve() for one sample.
struct Geometry {
  std::vector<Pass> passes;  // at least one
  Box decoded;               // the part to decode: the part of passes[0].box that its window needs
  // 1, 2, 4 or 8: a picture that has planes may instead be decoded to planes that are this much smaller (decode-image
  // with `fast`). The planes need to cover only `decoded`.
  int reduction = 1;
  Box drawn;  // box in the picture of a random-resized-crop before any resize; else all of it
};

// Memory of one decode thread, reused from sample to sample.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  struct Inside;
  Inside& inside() { return *inside_; }

 private:
  std::unique_ptr<Inside> inside_;
};

class ImageProgram {
 public:
  // Precondition: `output` came out of config/load.h and begins with decode-image. Throws SetupError on faults that
  // only show here.
  explicit ImageProgram(const config::OutputSpec& output);
  ~ImageProgram();
  ImageProgram(ImageProgram&&) noexcept;

  const SampleTensor& tensor() const;
  bool exif() const;                    // of decode-image
  bool strict() const;                  // of decode-image: damage anywhere in a picture is bad content
  bool fast() const;                    // of decode-image: geometry.reduction may be more than 1
  const std::string& box_name() const;  // of random-resized-crop's `box`; empty: not asked for

  // Reuses `geometry`'s memory.
  void resolve(const Size& picture, const Draws& draws, Geometry& geometry) const;
  // `rows` covers geometry.decoded (or more); `out` has tensor().bytes() bytes, aligned to the dtype at least.
  void render(const PixelRows& rows, const Geometry& geometry, Scratch& scratch, uint8_t* out) const;
  // The same from the planes of the whole picture, reduced by geometry.reduction. The first pass resizes luma and
  // chroma and converts at its own size. Chroma's weights include libjpeg's fancy upsampling, so that the pixels equal
  // the other render()'s within rounding. From reduced planes the pixels are close to these.
  void render(const PlanesView& planes, const Geometry& geometry, Scratch& scratch, uint8_t* out) const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

// The operations of the catalogue that ImageProgram runs, for the test that holds the two together.
std::vector<std::string> image_operations();

}  // namespace spdld::transform
