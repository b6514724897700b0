// The form in which the cache keeps videos where a pipeline asks for it (cache = "decoded"): all their frames, as the
// decoder gives them. Constant after construction; any thread.
#pragma once

#include <string>

#include "daemon/media/node.h"
#include "daemon/media/representation.h"

namespace spdld::video {

struct VideoWork;

class DecodedForm final : public media::Representation {
 public:
  DecodedForm();
  const std::string& id() const override { return id_; }
  std::optional<uint64_t> prepared_bytes(std::span<const uint8_t> content, media::Workspace& workspace) const override;
  double cost() const override { return 1; }  // a video takes far more memory than its file

  // Decodes all frames of the field's video into memory of its keeper, if that has room; the form stands for the field
  // from then on. A video with damage, or one without a form, is kept as it was fetched. Preconditions: the content is
  // whole and not prepared, work.index is of it, and the field has a keeper.
  static void prepare(media::Field& field, VideoWork& work);

 private:
  std::string id_;
};

}  // namespace spdld::video
