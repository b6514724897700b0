#include "daemon/media/image/codecs/jpeg/encoder.h"

#include <jerror.h>

#include <new>
#include <string>

#include "daemon/base/result.h"
#include "daemon/media/image/codecs/jpeg/rows.h"
#include "daemon/media/image/codecs/picture_limits.h"

namespace spdld::image {
namespace {

// Some rows of the widest picture.
constexpr size_t kLibraryBytesMax = size_t{64} << 20, kLibraryBytesKept = size_t{4} << 20;

// The most bytes that a JPEG of this size may have (libjpeg-turbo's tjBufSize() for 4:2:0, which covers grey).
size_t coded_bytes_max(const Size& size) {
  constexpr size_t kBlock = 16, kBytesOfPixel = 3, kMarkers = 2048;
  const size_t across = (static_cast<size_t>(size.width) + kBlock - 1) / kBlock * kBlock;
  const size_t down = (static_cast<size_t>(size.height) + kBlock - 1) / kBlock * kBlock;
  return across * down * kBytesOfPixel + kMarkers;
}

}  // namespace

struct JpegEncoder::Job {
  const uint8_t* pixels = nullptr;
  Size size;
  int channels = 0, quality = 0;
};

// The methods that libjpeg calls. They may leave by longjmp: nothing here has a destructor.
struct EncoderCallbacks {
  static JpegEncoder& encoder(j_common_ptr common) { return *static_cast<JpegEncoder*>(common->client_data); }

  [[noreturn]] static void error_exit(j_common_ptr common) { std::longjmp(encoder(common).escape_, 1); }
  static void output_message(j_common_ptr) {}

  static void* take(j_common_ptr common, int pool, size_t bytes) {
    JpegEncoder& self = encoder(common);
    void* piece = (pool == JPOOL_PERMANENT ? self.encoder_arena_ : self.picture_arena_).take(bytes);
    if (piece != nullptr) return piece;
    common->err->msg_code = JERR_OUT_OF_MEMORY;
    error_exit(common);
  }
  static JSAMPARRAY sample_rows(j_common_ptr common, int pool, JDIMENSION samples, JDIMENSION count) {
    return take_sample_rows(take, common, pool, samples, count);
  }
  static JBLOCKARRAY block_rows(j_common_ptr common, int pool, JDIMENSION blocks, JDIMENSION count) {
    return take_block_rows(take, common, pool, blocks, count);
  }
  static void realize(j_common_ptr) {}  // a JPEG of one scan asks for no virtual arrays
  static void free_pool(j_common_ptr common, int pool) {
    JpegEncoder& self = encoder(common);
    (pool == JPOOL_PERMANENT ? self.encoder_arena_ : self.picture_arena_).reset();
  }
  static void self_destruct(j_common_ptr) {}  // the arenas are members

  static void install_memory(JpegEncoder& self) {
    self.own_memory_ = self.jpeg_.mem;
    self.memory_ = *self.own_memory_;
    self.memory_.alloc_small = take;
    self.memory_.alloc_large = take;
    self.memory_.alloc_sarray = sample_rows;
    self.memory_.alloc_barray = block_rows;
    self.memory_.realize_virt_arrays = realize;
    self.memory_.free_pool = free_pool;
    self.memory_.self_destruct = self_destruct;
    self.jpeg_.mem = &self.memory_;
  }

  static void begin(j_compress_ptr) {}
  // The room is enough for every JPEG.
  static boolean grow(j_compress_ptr jpeg) {
    jpeg->err->msg_code = JERR_BUFFER_SIZE;
    error_exit(reinterpret_cast<j_common_ptr>(jpeg));
  }
  static void end(j_compress_ptr) {}
};

JpegEncoder::JpegEncoder() : picture_arena_(kLibraryBytesMax, kLibraryBytesKept), encoder_arena_(1 << 20, 1 << 20) {
  jpeg_.err = jpeg_std_error(&errors_);
  errors_.error_exit = EncoderCallbacks::error_exit;
  errors_.output_message = EncoderCallbacks::output_message;
  jpeg_.client_data = this;
  if (!attempt([](jpeg_compress_struct& jpeg, const Job&) { jpeg_create_compress(&jpeg); }, Job())) {
    jpeg_destroy_compress(&jpeg_);
    throw_fault();
  }
  EncoderCallbacks::install_memory(*this);
  destination_.init_destination = EncoderCallbacks::begin;
  destination_.empty_output_buffer = EncoderCallbacks::grow;
  destination_.term_destination = EncoderCallbacks::end;
  jpeg_.dest = &destination_;
}

JpegEncoder::~JpegEncoder() {
  jpeg_.mem = own_memory_;
  jpeg_destroy_compress(&jpeg_);
}

bool JpegEncoder::attempt(void (*step)(jpeg_compress_struct&, const Job&), const Job& job) {
  if (setjmp(escape_) != 0) return false;
  step(jpeg_, job);
  return true;
}

void JpegEncoder::throw_fault() {
  if (errors_.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
  char text[JMSG_LENGTH_MAX];
  errors_.format_message(reinterpret_cast<j_common_ptr>(&jpeg_), text);
  throw SetupError(Trouble::kInternal, "libjpeg can't encode a picture: " + std::string(text));
}

std::span<const uint8_t> JpegEncoder::encode(const uint8_t* pixels, const Size& size, int channels, int quality) {
  coded_.shrink(kMemoryKeptMax);
  destination_.next_output_byte = coded_.resize(coded_bytes_max(size));
  destination_.free_in_buffer = coded_.size();
  const bool is_done = attempt(
      [](jpeg_compress_struct& jpeg, const Job& job) {
        jpeg.image_width = static_cast<JDIMENSION>(job.size.width);
        jpeg.image_height = static_cast<JDIMENSION>(job.size.height);
        jpeg.input_components = job.channels;
        jpeg.in_color_space = job.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
        jpeg_set_defaults(&jpeg);
        jpeg_set_quality(&jpeg, job.quality, TRUE);
        jpeg_start_compress(&jpeg, TRUE);
        const size_t row_bytes = static_cast<size_t>(job.size.width) * static_cast<size_t>(job.channels);
        while (jpeg.next_scanline < jpeg.image_height) {
          auto* row = const_cast<JSAMPROW>(job.pixels + row_bytes * jpeg.next_scanline);  // libjpeg only reads it
          (void)jpeg_write_scanlines(&jpeg, &row, 1);
        }
        jpeg_finish_compress(&jpeg);
      },
      {pixels, size, channels, quality});
  if (!is_done) {
    jpeg_abort_compress(&jpeg_);
    throw_fault();
  }
  return coded_.bytes().first(coded_.size() - destination_.free_in_buffer);
}

}  // namespace spdld::image
