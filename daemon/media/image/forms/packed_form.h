// A form in which the cache keeps pictures: of a JPEG the coefficients of its blocks, packed
// (baseline/packed_picture.h), from which a box is transformed without any decoding of codes. Before them stand a mark
// and the shape of the planes. This class alone knows how large the form of a picture is, how it is made and how it is
// opened. Constant after construction; any thread, each with a decoder of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "daemon/base/result.h"
#include "daemon/media/image/codecs/pixels.h"
#include "daemon/media/image/codecs/planes.h"
#include "daemon/media/node.h"
#include "daemon/media/representation.h"

namespace spdld::image {

struct DecodeWay;
struct Decoding;
class ImageDecoder;

class PackedForm final : public media::Representation {
 public:
  explicit PackedForm(const DecodeWay& way);
  const std::string& id() const override { return id_; }
  std::optional<uint64_t> prepared_bytes(std::span<const uint8_t> content, media::Workspace& workspace) const override;
  double cost() const override { return 0.26; }

  // Decodes the picture that `decoder` has opened to planes of this shape, its planes(decoding.reduction). Where
  // somebody may keep the form, the picture is decoded whole and the form is made; where it is kept, it stands for the
  // field from then on. Else only decoding.box is decoded. The view lives as PlanesForm::prepare() says.
  static Result<PlanesView> prepare(const PlanesShape& shape, media::Field& field, ImageDecoder& decoder,
                                    Decoding& decoding);

  // For ImageDecoder::open_packed().
  struct Sections {
    std::span<const uint8_t> packed;
    PlanesShape shape;
  };
  // None: the bytes are of another form.
  static std::optional<Sections> open(std::span<const uint8_t> bytes);

 private:
  bool exif_;
  Pixels pixels_;
  std::string id_;
};

}  // namespace spdld::image
