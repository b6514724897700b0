// A form in which the cache keeps pictures: a JPEG's bytes with an index of its coded data, by which later boxes of it
// are decoded alone. The bytes stay as they were fetched, but for a progressive JPEG. It can have no index, and becomes
// a plain one with the same samples. Before both stand a mark and the index's size. This class alone knows how large
// the form of a picture is, how it is made and how it is opened. Constant after construction; any thread, each with a
// decoder of its own.
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

class IndexedForm final : public media::Representation {
 public:
  explicit IndexedForm(const DecodeWay& way);
  const std::string& id() const override { return id_; }
  std::optional<uint64_t> prepared_bytes(std::span<const uint8_t> content, media::Workspace& workspace) const override;
  double cost() const override { return 0.62; }

  // Decodes decoding.box of the picture that `decoder` has opened to planes of this shape, its
  // planes(decoding.reduction). Where somebody keeps the form it is made, and stands for the field from then on. The
  // view lives as PlanesForm::prepare() says.
  static Result<PlanesView> prepare(const PlanesShape& shape, media::Field& field, ImageDecoder& decoder,
                                    Decoding& decoding);

  // For ImageDecoder::open_indexed().
  struct Sections {
    std::span<const uint8_t> index, content;
  };
  // None: the bytes are of another form.
  static std::optional<Sections> open(std::span<const uint8_t> bytes);

 private:
  bool exif_;
  Pixels pixels_;
  std::string id_;
};

}  // namespace spdld::image
