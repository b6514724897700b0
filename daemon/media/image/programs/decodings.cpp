#include "daemon/media/image/programs/decodings.h"

#include <algorithm>
#include <utility>

namespace spdld::image {
namespace {

// Raised when other marks beside a picture tell its orientation: a form of a picture has it turned, or says that it is
// upright as it is.
constexpr int kUprightVersion = 2;

}  // namespace

std::string DecodeWay::form_text() const {
  return (exif ? ", upright " + std::to_string(kUprightVersion) : ", not turned") + (strict ? ", strict" : "") +
         (pixels.colours == Colours::kGrey ? ", luma alone" : "");
}

void Decodings::forget(size_t field) {
  for (size_t i = used_; i-- > 0;)
    if (all_[i].wanted.field == field) std::swap(all_[i], all_[--used_]);
}

std::optional<Size> Decodings::picture_of(const Wanted& wanted) const {
  for (size_t i = 0; i < used_; ++i)
    if (all_[i].wanted == wanted) return all_[i].picture;
  return {};
}

Decoding& Decodings::ask(const Wanted& wanted, const Size& picture, int reduction, const Box& box) {
  for (size_t i = 0; i < used_; ++i) {
    Decoding& one = all_[i];
    if (one.wanted != wanted || one.reduction != reduction) continue;
    const Box both = union_of(one.box, box);
    one.is_done = one.is_done && both == one.box;
    one.box = both;
    return one;
  }
  if (used_ == all_.size()) all_.emplace_back();
  Decoding& added = all_[used_++];
  added.wanted = wanted;
  added.reduction = reduction;
  added.picture = picture;
  added.box = box;
  added.is_done = false;
  added.planes.reset();
  return added;
}

void Decodings::shrink(size_t bytes_max) {
  used_ = 0;
  for (Decoding& one : all_) {
    one.rows.memory.shrink(bytes_max);
    one.memory.shrink(bytes_max);
    one.form.shrink(bytes_max);
  }
}

}  // namespace spdld::image
