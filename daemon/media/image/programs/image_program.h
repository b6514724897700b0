// A chain of image operations, compiled once for an output, run once a sample by a decode thread, straight into the
// slot.
//
//   resolve:  the picture's size + the sample's draws -> what has to be decoded and how it is resampled (no pixels yet)
//   render:   decoded rows -> the sample's tensor at its place in the slot
//
// Pixels are RGB of 8 bits, grey of 8 bits (both by the kernels of resample.h), or of another format (resample_any.h).
//
// Resampling is Pillow's and torchvision's: separable, triangle filter, antialiased (support grows with the reduction)
// unless turned off, box edges clamp, pixel centres at half. Other filters (filter.h) take rows alone: planes become
// libjpeg's RGB first (planes_rows.h), so that their pixels are the same from planes and from rows, bit for bit. So are
// the pixels of a pass that does not resample, and all pixels of a program that resamples as Pillow: its triangle is
// Pillow's, bit for bit, too (Filter::kTriangle). Each pass of a chain is one resampling; flips and crops fold into the
// pass that they follow; a second resize starts a second pass. Every pass is rounded to the picture's 8 or 16 bits, as
// in a chain over Pillow's pictures: a float tensor has the same values as the uint8 tensor. The program itself is
// constant once its operations were added: any thread.
//
// Operations on colours adjust the rounded picture that a pass shows (adjustment.h): it then lies in scratch as a
// whole. Without a drawn adjustment nothing is done for them.
//
// The random crops and the flips draw from the stream that their `draw` names, by default from a stream named
// as the operation. So two outputs of a sample share a crop unless they name different draws.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "config/spec.h"
#include "daemon/base/picture.h"
#include "daemon/base/random.h"
#include "daemon/media/image/codecs/planes.h"
#include "daemon/media/image/geometry/geometry.h"
#include "daemon/media/image/kernels/tensor_rows.h"
#include "daemon/media/work_guard.h"
#include "daemon/media/work_times.h"

namespace spdld::image {

// Memory of one decode thread, reused from sample to sample.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  struct Inside;
  Inside& inside() { return *inside_; }
  // Of the sample that is worked on: what measures the work, and what bounds it; null: nothing. Borrowed until the next
  // call.
  void set_work(media::WorkTimer* timer, media::WorkGuard* guard);

 private:
  std::unique_ptr<Inside> inside_;
};

class ImageProgram {
 public:
  // `fast`: geometry.reduction may be more than 1. `decoded`: of the pixels that the first pass gives; operations on
  // colours may change them before the tensor. `as_pillow`: see above; the pixels have 8 bits and no alpha then, and
  // `fast` is off.
  explicit ImageProgram(bool fast, const PixelFormat& decoded = {}, bool as_pillow = false)
      : fast_(fast), as_pillow_(as_pillow), decoded_(decoded) {}

  // The next operation; the last one is end().
  void add(std::unique_ptr<const GeometryStep> step) { steps_.push_back(std::move(step)); }
  // Takes the last `count` operations off, for an operation that holds them.
  GeometrySteps take(size_t count);
  void end(const TensorFormat& format) { format_ = format; }

  const GeometrySteps& steps() const { return steps_; }
  const TensorFormat& format() const { return format_; }
  const PixelFormat& decoded() const { return decoded_; }
  // Of a picture, or of each piece; the second one where batches have sizes of their own.
  size_t tensor_bytes() const { return bytes_of(format_); }
  size_t tensor_bytes(const Geometry& geometry) const { return bytes_of(format_of(geometry)); }
  // From a frame's values to the next frame's.
  size_t step_bytes(const Geometry& geometry) const { return image::step_bytes(format_of(geometry)); }

  TensorFormat format_of(const Geometry& geometry) const;  // with the picture's size

  // Reuses `geometry`'s memory.
  void resolve(const Size& picture, const Draws& draws, Geometry& geometry) const;
  // `rows` covers geometry.decoded (or more), of pixels of the decoded format; `out` has tensor_bytes() bytes (for each
  // piece, where the geometry has pieces), aligned to the dtype at least.
  void render(const PixelRows& rows, const Geometry& geometry, Scratch& scratch, uint8_t* out) const;
  // Renders from the planes of the whole picture, reduced by geometry.reduction. A first pass that resamples resizes
  // luma and chroma and converts at its own size. Chroma's weights include libjpeg's fancy upsampling, so that the
  // pixels equal the other render()'s within rounding. Other pixels equal the other render()'s, bit for bit. From
  // reduced planes the pixels are close to these. Precondition: the decoded pixels are RGB or grey of 8 bits; luma
  // alone is taken for grey. Planes with colours of their own are for a geometry that takes_planes().
  void render(const PlanesView& planes, const Geometry& geometry, Scratch& scratch, uint8_t* out) const;
  // Whether the first pass that resamples takes planes as they are; else they become rows of RGB before it.
  static bool takes_planes(const Geometry& geometry);

 private:
  bool fast_, as_pillow_;
  PixelFormat decoded_;
  GeometrySteps steps_;
  TensorFormat format_;
};

}  // namespace spdld::image
