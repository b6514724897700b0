#include <openjpeg.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "daemon/media/image/codecs/jpeg2000/codestream.h"
#include "daemon/media/image/codecs/jpeg2000/samples.h"
#include "daemon/media/image/codecs/stored_codec.h"

namespace spdld::image {
namespace {

// The bytes as OpenJPEG's stream. They are not copied.
struct OpjSource {
  std::span<const uint8_t> bytes;
  size_t at = 0;
};

OPJ_SIZE_T read_source(void* to, OPJ_SIZE_T count, void* user) {
  auto& source = *static_cast<OpjSource*>(user);
  const size_t given = std::min<size_t>(count, source.bytes.size() - source.at);
  if (given == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(to, source.bytes.data() + source.at, given);
  source.at += given;
  return given;
}

OPJ_OFF_T skip_source(OPJ_OFF_T count, void* user) {
  auto& source = *static_cast<OpjSource*>(user);
  if (count < 0) return -1;
  source.at += std::min<size_t>(static_cast<size_t>(count), source.bytes.size() - source.at);
  return count;
}

OPJ_BOOL seek_source(OPJ_OFF_T to, void* user) {
  auto& source = *static_cast<OpjSource*>(user);
  if (to < 0 || static_cast<size_t>(to) > source.bytes.size()) return OPJ_FALSE;
  source.at = static_cast<size_t>(to);
  return OPJ_TRUE;
}

struct DestroyOpjImage {
  void operator()(opj_image_t* image) const { opj_image_destroy(image); }
};
using OpjImage = std::unique_ptr<opj_image_t, DestroyOpjImage>;
// OpenJPEG's streams and codecs have no types of their own: both are pointers to anything.
using OpjThing = std::unique_ptr<void*, void (*)(void**)>;

// Keeps the first sentence, without the end of its line.
void keep_error(const char* text, void* user) {
  auto& kept = *static_cast<std::string*>(user);
  if (kept.empty()) kept = text;
  kept.erase(kept.find_last_not_of("\r\n ") + 1);
}

Result<OpjImage> decode_whole(std::span<const uint8_t> bytes, bool has_boxes) {
  constexpr OPJ_SIZE_T kBufferBytes = 64 << 10;
  OpjSource source{bytes};
  const OpjThing stream(opj_stream_create(kBufferBytes, OPJ_TRUE), opj_stream_destroy);
  const OpjThing codec(opj_create_decompress(has_boxes ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K), opj_destroy_codec);
  if (!stream || !codec) return Error{Trouble::kMemory, "there is not enough memory to decode a JPEG 2000"};
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), bytes.size());
  opj_stream_set_read_function(stream.get(), read_source);
  opj_stream_set_skip_function(stream.get(), skip_source);
  opj_stream_set_seek_function(stream.get(), seek_source);
  std::string error;
  opj_set_error_handler(codec.get(), keep_error, &error);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* image = nullptr;
  // The number of threads is set, for the environment could set another one. 0: this thread alone.
  const bool is_decoded =
      opj_setup_decoder(codec.get(), &parameters) != 0 && opj_codec_set_threads(codec.get(), 0) != 0 &&
      opj_read_header(stream.get(), codec.get(), &image) != 0 && opj_decode(codec.get(), stream.get(), image) != 0 &&
      opj_end_decompress(codec.get(), stream.get()) != 0;
  OpjImage decoded(image);
  if (!is_decoded) return damaged(kJpeg2000Name, "OpenJPEG says " + (error.empty() ? "nothing more" : error));
  return decoded;
}

class Jpeg2000Codec final : public StoredCodec {
 public:
  const char* name() const override { return kJpeg2000Name; }
  Result<StoredOutline> open(std::span<const uint8_t> bytes, const Pixels& wanted) override;
  Result<ColourProfile> profile() override {
    return profile_of(kJpeg2000Name, head_.profile.data(), head_.profile.size(), head_.channels <= 2);
  }
  Status decode(const Box& box, CpuWatch& watch, PixelRows& rows) override;

 private:
  std::span<const uint8_t> bytes_;
  Jpeg2000Head head_;
};

Result<StoredOutline> Jpeg2000Codec::open(std::span<const uint8_t> bytes, const Pixels& wanted) {
  constexpr uint64_t kForAll = 4 << 20, kTileBytes = 8 << 10, kComponentBytes = 2 << 10;
  constexpr uint64_t kSampleBytes = 12;  // the picture's and the tile's, and a palette's numbers
  bytes_ = bytes;
  const auto head = read_jpeg2000_head(bytes);
  if (!head) return head.error();
  head_ = *head;
  const bool has_alpha = head_.channels == 2 || head_.channels == 4;
  const bool gives_alpha = has_alpha && wanted.colours == Colours::kRgba;
  const int channels = gives_alpha ? 4 : head_.channels <= 2 ? 1 : 3;
  const uint64_t samples =
      uint64_t{head_.width} * head_.height * static_cast<uint64_t>(std::max(head_.channels, head_.components));
  const uint64_t tiles = head_.tiles * (kTileBytes + kComponentBytes * static_cast<uint64_t>(head_.components));
  return StoredOutline{head_.width, head_.height, 1, PixelFormat{channels, head_.bits > 8 && wanted.bits == 16 ? 2 : 1},
                       kForAll + samples * kSampleBytes + tiles + head_.tile_bytes + 2 * bytes.size()};
}

// OpenJPEG decodes in one piece: the time is looked at before and behind it.
Status Jpeg2000Codec::decode(const Box& box, CpuWatch& watch, PixelRows& rows) {
  const uint64_t blocks = uint64_t{head_.width} * head_.height / 64 + 1;
  if (watch.is_over(blocks)) return costs_too_much(kJpeg2000Name, kTooMuchCpuTime);
  const auto image = decode_whole(bytes_, head_.has_boxes);
  if (watch.is_over(blocks)) return costs_too_much(kJpeg2000Name, kTooMuchCpuTime);
  if (!image) return image.error();
  if (const Status written = write_pixels(**image, rows); !written) return written;
  rows.offset = rows.stride_bytes * static_cast<size_t>(box.y);
  rows.covers = {0, box.y, rows.picture.width, box.height};
  return Done{};
}

}  // namespace

std::unique_ptr<ImageDecoder> make_jpeg2000_decoder(const media::DecodeLimits& limits) {
  return make_stored_decoder(std::make_unique<Jpeg2000Codec>(), limits);
}

std::string jpeg2000_code() { return std::string("OpenJPEG ") + opj_version(); }

}  // namespace spdld::image
