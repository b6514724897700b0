// libjpeg's decompressor as an object: its errors come back as values, its memory is kept from picture to picture.
// Every call into libjpeg goes through attempt(). One thread.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE and does not include it

#include <jpeglib.h>

#include <string>

#include "daemon/decode/jpeg/arena.h"

namespace spdld::decode {

class Codec {
 public:
  Codec();  // throws SetupError where libjpeg can't be set up, std::bad_alloc where there is no memory
  ~Codec();
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  jpeg_decompress_struct& jpeg() { return jpeg_; }

  // Runs step(jpeg, context). False when libjpeg gave up or met damage: message() says why, in libjpeg's words or ours.
  // libjpeg leaves by longjmp, so `step` and what it calls must not hold anything that has a destructor.
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
  // Forgets the picture, with its tables and its source; their memory is kept.
  void abort();

  std::string message() const { return message_; }
  // After attempt() gave false: the machine had no memory for this picture, which says nothing about the picture.
  bool ran_short_of_memory() const { return picture_arena_.ran_short() || codec_arena_.ran_short(); }
  // After attempt() gave false: the kind of this JPEG, where libjpeg does not decode that kind at all ("a lossless
  // JPEG"); empty: the data is damaged.
  std::string unsupported() const { return unsupported_; }

  // Progressive pictures hold all their coefficients at once, 2 bytes each: 3 bytes a pixel for a colour picture with
  // 4:2:0 chroma. Each of their scans goes over the whole picture; real pictures have about 10 scans.
  static constexpr size_t kMemoryMax = size_t{768} << 20;
  static constexpr size_t kMemoryKeptMax = size_t{32} << 20;
  static constexpr int kScansMax = 100;

 private:
  friend struct CodecCallbacks;

  bool attempt_erased(void (*step)(jpeg_decompress_struct&, void*), void* context);
  [[noreturn]] void give_up(const char* message);

  jpeg_decompress_struct jpeg_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  jpeg_memory_mgr memory_{};               // our methods, in the place of
  jpeg_memory_mgr* own_memory_ = nullptr;  // libjpeg's own
  Arena picture_arena_{kMemoryMax, kMemoryKeptMax};
  Arena codec_arena_{size_t{1} << 20, size_t{1} << 20};  // tables and source
  void* pending_arrays_ = nullptr;                       // virtual arrays that were requested and not yet realised
  std::jmp_buf escape_{};
  char message_[JMSG_LENGTH_MAX] = "";
  char unsupported_[48] = "";
};

}  // namespace spdld::decode
