// The form in which the cache keeps pictures: a picture's planes, whole and at full size, as planes.h lays them out.
// This class alone knows how large the form of a picture is, how it is made and how it is opened. Constant after
// construction; any thread, each with a decoder of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "daemon/base/byte_buffer.h"
#include "daemon/base/result.h"
#include "daemon/media/image/codecs/pixels.h"
#include "daemon/media/image/codecs/planes.h"
#include "daemon/media/node.h"
#include "daemon/media/representation.h"

namespace spdld::image {

struct DecodeWay;
struct Decoding;
class ImageDecoder;

// Memory for `bytes` of planes, aligned as planes are.
uint8_t* aligned_planes(ByteBuffer& memory, size_t bytes);

class PlanesForm final : public media::Representation {
 public:
  explicit PlanesForm(const DecodeWay& way);
  const std::string& id() const override { return id_; }
  std::optional<uint64_t> prepared_bytes(std::span<const uint8_t> content, media::Workspace& workspace) const override;
  double cost() const override { return 0.13; }

  // Decodes the picture that `decoder` has opened to planes of this shape, its planes(decoding.reduction). Where
  // somebody keeps the form it is made whole, and stands for the field from then on. Else, and where the picture is
  // reduced (such a picture has no form to keep), only decoding.box is decoded. The view is into memory of the keeper
  // or of `decoding`, and lives until the sample's end.
  static Result<PlanesView> prepare(const PlanesShape& shape, media::Field& field, ImageDecoder& decoder,
                                    Decoding& decoding);
  // The planes in bytes of this form. None: the bytes are no planes.
  static std::optional<PlanesView> open(std::span<const uint8_t> bytes);

 private:
  bool exif_;
  Pixels pixels_;
  std::string id_;
};

}  // namespace spdld::image
