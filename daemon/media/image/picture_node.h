// decode-image and all operations on the picture that follow it, fused into one node: only the part of a picture that
// is needed is decoded, and it is resampled straight into the sample's part of the tensor.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/media/image/decodings.h"
#include "daemon/media/image/image_decoder.h"
#include "daemon/media/image/image_program.h"
#include "daemon/media/image/planes_form.h"
#include "daemon/media/node.h"

namespace spdld::image {

// The objects that a decode thread keeps for pictures.
struct PictureWork {
  explicit PictureWork(const media::DecodeLimits& limits) : decoder(make_image_decoder(limits)) {}
  void shrink(size_t bytes_max);

  std::unique_ptr<ImageDecoder> decoder;
  std::optional<Wanted> opened;  // by the decoder
  Decodings decodings;
  Size picture;  // the size of the picture that `geometry` belongs to
  Geometry geometry;
  Scratch scratch;
};

class PictureNode final : public media::Node {
 public:
  explicit PictureNode(const DecodeWay& way) : way_(way), program_(way.fast, way.pixels.format()), form_(way) {}

  // The next operation, and the last one. Without an end the tensor is uint8 NHWC of no size.
  void add(std::unique_ptr<const GeometryStep> step) { program_.add(std::move(step)); }
  // The steps of the last `count` operations, each of which has added one, for an operation that holds them.
  GeometrySteps take(size_t count) { return program_.take(count); }
  void end(const TensorFormat& format) { program_.end(format); }
  // A step chooses by the boxes of the view.
  void ask_for_boxes() { asks_for_boxes_ = true; }
  // Writes the drawn box, int32 [4] (x, y, width, height), into this one of Run::tensors.
  void write_drawn(size_t tensor) { drawn_tensor_ = tensor; }
  // Writes the chosen grid, int32 [4], as Geometry has it.
  void write_grid(size_t tensor) { grid_tensor_ = tensor; }

  Status announce(const media::Run& run) const override;
  Status run(media::Value& value, const media::Run& run) const override;
  std::vector<std::string> code() const override;
  const media::Representation* representation() const override {
    return way_.fast || !has_planes(way_.pixels) ? nullptr : &form_;
  }
  std::string_view why_unprepared() const override;

  const DecodeWay& way() const { return way_; }
  const ImageProgram& program() const { return program_; }

 private:
  // Finds out what the sample needs of its field's picture: into work.geometry, and into the decoding that will have
  // it.
  Result<Decoding*> ask(const media::Run& run, PictureWork& work) const;
  Wanted wanted(const media::Field& field) const { return {field.number, way_}; }
  Result<Size> open(const media::Field& field, PictureWork& work) const;
  // Opens the picture again where the decoder has opened another one since.
  Status reopen(const media::Field& field, PictureWork& work) const;
  Status resolve(const Size& picture, const media::Run& run, PictureWork& work) const;
  Status decode(Decoding& decoding, media::Field& field, PictureWork& work) const;
  Status render_bytes(const media::Run& run, PictureWork& work) const;
  Status render_planes(std::span<const uint8_t> bytes, const media::Run& run, PictureWork& work) const;

  DecodeWay way_;
  ImageProgram program_;
  PlanesForm form_;
  bool asks_for_boxes_ = false;
  std::optional<size_t> drawn_tensor_, grid_tensor_;
};

// The last node, which the operation that is being added continues. Precondition: it is a PictureNode, as signatures
// make sure.
PictureNode& picture_node(const media::Nodes& nodes);

// The tensor of the operation's dtype and layout, and the size of the picture that it takes, or none where each batch
// has a size of its own; values as they are.
TensorFormat format_of(const media::Part& part);

}  // namespace spdld::image
