#include "daemon/media/image/picture_node.h"

#include <algorithm>
#include <iterator>

#include "config/steps.h"
#include "daemon/media/image/codecs/srgb_transforms.h"
#include "daemon/media/image/kernels/resample.h"
#include "daemon/media/image/kernels/resample_any.h"

namespace spdld::image {

std::vector<std::string> PictureNode::code() const {
  std::vector<std::string> code = picture_codes();
  code.push_back("resampler " + std::to_string(kResamplerVersion));
  if (std::string colours = colour_code(); way_.pixels.srgb && !colours.empty()) code.push_back(std::move(colours));
  if (!has_planes(way_.pixels)) code.push_back("resampler of any pixels " + std::to_string(kAnyResamplerVersion));
  return code;
}

const media::Representation* PictureNode::representation(config::CacheForm form) const {
  if (way_.fast || !has_planes(way_.pixels)) return nullptr;
  if (form == config::CacheForm::kIndexed) return &indexed_form_;
  if (form == config::CacheForm::kPacked) return &packed_form_;
  return form == config::CacheForm::kDecoded ? &planes_form_ : nullptr;
}

std::string_view PictureNode::why_unprepared() const {
  if (!has_planes(way_.pixels))
    return "pictures of 16 bits, with alpha, in sRGB by their profiles, or of later or several frames have no planes "
           "to keep";
  return way_.fast ? "decode-image with fast = true leaves no planes to keep" : std::string_view();
}

namespace {

// The pieces that the tensor takes, where samples have different numbers of them.
Status take_pieces(const media::Call& call, Geometry& geometry) {
  const media::TensorOut& out = call.tensors.front();
  if (out.length == nullptr) return Done{};
  const Result<uint64_t> taken = out.take(geometry.pieces.size());
  if (!taken) return taken.error();
  geometry.pieces.resize(*taken);
  return Done{};
}

// Whether the field's picture is there as planes, from which every output starts.
bool is_planes(const media::Field& field) {
  return field.is_prepared && field.form != config::CacheForm::kIndexed && field.form != config::CacheForm::kPacked;
}

// A field's picture of the sample before means nothing any more.
void begin(media::Field& field, PictureWork& work) {
  if (field.is_begun) return;
  work.decodings.forget(field.number);
  if (work.opened && work.opened->field == field.number) work.opened.reset();
  field.is_begun = true;
}

}  // namespace

Status PictureNode::announce(const media::Call& call) const {
  if (is_planes(*call.field)) return Done{};
  auto& work = call.workspace.of<PictureWork>();
  begin(*call.field, work);
  if (way_.pixels.frames > 0) return Done{};  // nobody shares them
  const Result<Decoding*> asked = ask(call, work);
  return asked ? Status(Done{}) : asked.error();
}

Status PictureNode::run(media::Value&, const media::Call& call) const {
  auto& work = call.workspace.of<PictureWork>();
  work.scratch.set_work(&call.workspace.timer(), &call.workspace.guard());
  const Status rendered =
      is_planes(*call.field) ? render_planes(call.field->bytes, call, work) : render_bytes(call, work);
  if (!rendered) return rendered;
  tell(work.picture, call, work.geometry);
  return Done{};
}

Status PictureNode::resolve(const Size& picture, const media::Call& call, PictureWork& work) const {
  work.picture = picture;
  const Status resolved = ProgramNode::resolve(picture, call, work.geometry);
  return resolved ? take_scratch(call, work.geometry, work.scratch_memory) : resolved;
}

Status PictureNode::render_planes(std::span<const uint8_t> bytes, const media::Call& call, PictureWork& work) const {
  const auto planes = PlanesForm::open(bytes);
  if (!planes)
    return Error{Trouble::kInternal,
                 "what the cache keeps of sample " + std::to_string(call.sample) + " is no picture"};
  if (const Status resolved = resolve(planes->shape.picture, call, work); !resolved) return resolved;
  if (const Status taken = take_pieces(call, work.geometry); !taken) return taken;
  const Result<uint8_t*> out = open_tensor(call.tensors.front(), work.geometry);
  if (!out) return out.error();
  const media::Lap lap(call.workspace.timer(), config::kResampleStep.name);
  program().render(*planes, work.geometry, work.scratch, *out);
  return Done{};
}

Result<Size> PictureNode::open(const media::Field& field, PictureWork& work) const {
  work.opened.reset();
  const Result<Size> size = field.is_prepared ? open_kept(field, *work.decoder)
                                              : work.decoder->open(field.bytes, way_.exif, way_.strict, way_.pixels);
  if (size) work.opened = wanted(field);
  return size;
}

Result<Size> PictureNode::open_kept(const media::Field& field, ImageDecoder& decoder) const {
  if (field.form == config::CacheForm::kPacked) {
    const auto parts = PackedForm::open(field.bytes);
    if (!parts) return Error{Trouble::kInternal, "what the cache keeps of a sample is not packed"};
    return decoder.open_packed(parts->packed, parts->shape);
  }
  const auto parts = IndexedForm::open(field.bytes);
  if (!parts) return Error{Trouble::kInternal, "what the cache keeps of a sample has no index"};
  return decoder.open_indexed(parts->content, parts->index, way_.exif, way_.strict, way_.pixels);
}

Status PictureNode::reopen(const media::Field& field, PictureWork& work) const {
  if (work.opened == wanted(field)) return Done{};
  const Result<Size> size = open(field, work);
  return size ? Status(Done{}) : size.error();
}

Result<Decoding*> PictureNode::ask(const media::Call& call, PictureWork& work) const {
  const media::Field& field = *call.field;
  const std::optional<Size> known = work.decodings.picture_of(wanted(field));
  const Result<Size> picture = known ? Result<Size>(*known) : open(field, work);
  if (!picture) return picture.error();
  if (const Status resolved = resolve(*picture, call, work); !resolved) return resolved.error();
  int& reduction = work.geometry.reduction;
  if (reduction > 1) {
    if (const Status opened = reopen(field, work); !opened) return opened.error();
  }
  while (reduction > 1 && !work.decoder->planes(reduction)) reduction /= 2;
  return &work.decodings.ask(wanted(field), *picture, reduction, work.geometry.decoded);
}

Status PictureNode::decode(Decoding& decoding, media::Field& field, PictureWork& work) const {
  if (const Status opened = reopen(field, work); !opened) return opened;
  if (const auto shape = work.decoder->planes(decoding.reduction)) {
    const auto prepare = field.form == config::CacheForm::kIndexed  ? IndexedForm::prepare
                         : field.form == config::CacheForm::kPacked ? PackedForm::prepare
                                                                    : PlanesForm::prepare;
    // A form that is kept is made beside the planes, where its keeper has no memory for it yet.
    const uint64_t bytes = PlanesLayout(*shape).bytes + (field.keeper ? 2 * field.bytes.size() : 0);
    if (!work.planes_memory.add(ByteBuffer::room_for(bytes))) return media::no_room();
    const auto planes = prepare(*shape, field, *work.decoder, decoding);
    if (!planes) return planes.error();
    decoding.planes = *planes;
  } else {
    const Status decoded = work.decoder->decode(decoding.box, decoding.rows);
    if (!decoded) return decoded;
    if (field.keeper) field.keeper->keep_as_fetched(field.bytes);
  }
  decoding.is_done = true;
  return Done{};
}

Status PictureNode::render_bytes(const media::Call& call, PictureWork& work) const {
  begin(*call.field, work);
  if (way_.pixels.frames > 0) return render_frames(call, work);
  const Result<Decoding*> asked = ask(call, work);
  if (!asked) return asked.error();
  if (const Status taken = take_pieces(call, work.geometry); !taken) return taken;
  Decoding& decoding = **asked;
  if (!decoding.is_done) {
    if (const Status decoded = decode(decoding, *call.field, work); !decoded) return decoded;
  }
  const Result<uint8_t*> out = open_tensor(call.tensors.front(), work.geometry);
  if (!out) return out.error();
  const media::Lap lap(call.workspace.timer(), config::kResampleStep.name);
  if (decoding.planes) {
    program().render(*decoding.planes, work.geometry, work.scratch, *out);
  } else {
    program().render(decoding.rows, work.geometry, work.scratch, *out);
  }
  return Done{};
}

// A file that has fewer frames than are wanted gives some of them more than once. Each has noise of its own.
Status PictureNode::render_frames(const media::Call& call, PictureWork& work) const {
  const Result<Size> picture = open(*call.field, work);
  if (!picture) return picture.error();
  if (const Status resolved = resolve(*picture, call, work); !resolved) return resolved;
  work.opened.reset();  // frames are decoded once
  spread_frames(work.decoder->frames(), way_.pixels.frames, work.frames);
  work.listed.clear();
  std::unique_copy(work.frames.begin(), work.frames.end(), std::back_inserter(work.listed));
  if (call.field->keeper) call.field->keeper->keep_as_fetched(call.field->bytes);
  uint8_t* out = call.tensors.front().memory;
  auto next = work.frames.begin();
  const Status decoded =
      work.decoder->decode_frames(work.listed, work.geometry.decoded, work.frame, [&](const PixelRows& rows) {
        const int frame = *next;
        const media::Lap lap(call.workspace.timer(), config::kResampleStep.name);
        for (; next != work.frames.end() && *next == frame; ++next) {
          program().render(rows, work.geometry, work.scratch, out);
          out += program().step_bytes(work.geometry);
          renew_noise(work.geometry.adjustments);
        }
        return Status(Done{});
      });
  if (!decoded || next == work.frames.end()) return decoded;
  return Error{Trouble::kInternal, "a decoder gave fewer frames than it has"};
}

}  // namespace spdld::image
