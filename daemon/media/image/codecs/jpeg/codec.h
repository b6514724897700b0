// libjpeg's decompressor as an object: its errors come back as values, its memory is kept from picture to picture.
// Every call into libjpeg goes through attempt(). One thread.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE and does not include it

#include <jpeglib.h>

#include <string>

#include "daemon/media/image/codecs/arena.h"
#include "daemon/media/image/codecs/picture_limits.h"

namespace spdld::image {

class Codec {
 public:
  // Throws SetupError where libjpeg can't be set up, std::bad_alloc where there is no memory.
  explicit Codec(const media::DecodeLimits& limits);
  ~Codec();
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  jpeg_decompress_struct& jpeg() { return jpeg_; }

  // Runs step(jpeg, context). False when libjpeg gave up, the data ended too early or a limit was reached: message()
  // says why, in libjpeg's words or ours. libjpeg leaves by longjmp, so `step` and what it calls must not hold anything
  // that has a destructor.
  template <typename Context>
  [[nodiscard]] bool attempt(void (*step)(jpeg_decompress_struct&, Context&), Context& context) {
    struct Call {
      void (*step)(jpeg_decompress_struct&, Context&);
      Context& context;
    } call{step, context};
    return attempt_erased(
        [](jpeg_decompress_struct& jpeg, void* erased) {
          auto& inner = *static_cast<Call*>(erased);
          inner.step(jpeg, inner.context);
        },
        &call);
  }
  // Forgets the picture, with its tables and its source; their memory is kept. CPU time counts anew.
  void abort();
  // From now on any damage that libjpeg notices in coded data ends an attempt; else libjpeg goes on with the pixels
  // that it makes of the data, which are the same in every attempt.
  void refuse_damage(bool refused) { refuses_damage_ = refused; }
  // All rows were read: data that ends before the end marker is no trouble any more. Until abort().
  void allow_early_end() { early_end_allowed_ = true; }
  // Takes `bytes`, which the caller itself uses for this picture, from the limit of memory. False: the limit is
  // smaller.
  [[nodiscard]] bool share_memory(uint64_t bytes);

  // Whether the limit of memory allows `bytes` in all.
  bool leaves_memory(uint64_t bytes) const { return bytes <= bytes_max(); }
  // Before work of the caller's own on this picture, with its number of blocks of 64 samples. False: the picture costs
  // too much time, as reached_limit() and message() say.
  [[nodiscard]] bool spend_cpu_time(uint64_t blocks);

  std::string message() const { return message_; }
  // After attempt() gave false: the machine had no memory for this picture, which says nothing about the picture.
  bool ran_short_of_memory() const { return ran_short_of_memory_; }
  // After attempt() gave false: the kind of this JPEG, where libjpeg does not decode that kind at all ("a lossless
  // JPEG"); empty: the data is damaged.
  std::string unsupported() const { return unsupported_; }
  // After attempt() gave false: the picture may be sound, but costs more than it may; message() says what.
  bool reached_limit() const { return reached_limit_; }

  // Each scan of a progressive picture goes over the whole picture; real pictures have about 10 scans.
  static constexpr int kScansMax = 100;

 private:
  friend struct CodecCallbacks;

  bool attempt_erased(void (*step)(jpeg_decompress_struct&, void*), void* context);
  [[noreturn]] void give_up(const char* message);
  [[noreturn]] void give_up_at_limit(const char* message);
  void check_cpu_time();
  size_t bytes_max() const { return limits_.bytes_max == 0 ? SIZE_MAX : limits_.bytes_max; }

  const media::DecodeLimits limits_;
  jpeg_decompress_struct jpeg_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  jpeg_memory_mgr memory_{};               // our methods, in the place of
  jpeg_memory_mgr* own_memory_ = nullptr;  // libjpeg's own
  Arena picture_arena_{bytes_max(), kMemoryKeptMax};
  Arena codec_arena_{size_t{1} << 20, size_t{1} << 20};  // tables and source
  void* pending_arrays_ = nullptr;                       // virtual arrays that were requested and not yet realised
  bool refuses_damage_ = false, early_end_allowed_ = false, reached_limit_ = false;
  CpuWatch cpu_watch_;
  bool ran_short_of_memory_ = false;
  std::jmp_buf escape_{};
  char message_[JMSG_LENGTH_MAX] = "";
  char unsupported_[48] = "";
};

}  // namespace spdld::image
