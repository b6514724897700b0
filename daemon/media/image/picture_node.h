// decode-image and all operations on the picture that follow it, fused into one node: only the part of a picture that
// is needed is decoded, and it is resampled straight into the sample's part of the tensor.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/media/image/forms/indexed_form.h"
#include "daemon/media/image/forms/packed_form.h"
#include "daemon/media/image/forms/planes_form.h"
#include "daemon/media/image/programs/picture_work.h"
#include "daemon/media/image/programs/program_node.h"
#include "daemon/media/node.h"

namespace spdld::image {

class PictureNode final : public ProgramNode {
 public:
  PictureNode(const DecodeWay& way, bool as_pillow)
      : ProgramNode(way.fast, way.pixels.format(), as_pillow),
        way_(way),
        planes_form_(way),
        indexed_form_(way),
        packed_form_(way) {}

  Status announce(const media::Call& call) const override;
  Status run(media::Value& value, const media::Call& call) const override;
  std::vector<std::string> code() const override;
  const media::Representation* representation(config::CacheForm form) const override;
  std::string_view why_unprepared() const override;

  const DecodeWay& way() const { return way_; }

 private:
  // Finds out what the sample needs of its field's picture: into work.geometry, and into the decoding that will have
  // it.
  Result<Decoding*> ask(const media::Call& call, PictureWork& work) const;
  Wanted wanted(const media::Field& field) const { return {field.number, way_}; }
  Result<Size> open(const media::Field& field, PictureWork& work) const;
  Result<Size> open_kept(const media::Field& field, ImageDecoder& decoder) const;
  // Opens the picture again where the decoder has opened another one since.
  Status reopen(const media::Field& field, PictureWork& work) const;
  Status resolve(const Size& picture, const media::Call& call, PictureWork& work) const;
  Status decode(Decoding& decoding, media::Field& field, PictureWork& work) const;
  Status render_bytes(const media::Call& call, PictureWork& work) const;
  // All frames of an animation, straight into the slot.
  Status render_frames(const media::Call& call, PictureWork& work) const;
  Status render_planes(std::span<const uint8_t> bytes, const media::Call& call, PictureWork& work) const;

  DecodeWay way_;
  PlanesForm planes_form_;
  IndexedForm indexed_form_;
  PackedForm packed_form_;
};

}  // namespace spdld::image
