// How one sample's content is decoded: its limits, and a choice of code. Constant data; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "daemon/base/system/cpu.h"

namespace spdld::media {

class SampleMemory;
class WorkGuard;

// Content that goes beyond a limit is bad content.
struct DecodeLimits {
  // Of one decoding, counted from the first 32,768 blocks of a picture on, and of all operations on a sample, with the
  // decoding before them. 0: none.
  uint64_t cpu_ms_max = 10'000;
  // The memory of the codec's library, and of the samples that it gives. 2 GiB are enough for every JPEG of
  // image::kPixelsMax pixels, and for every PNG of as many pixels whose rows are not extremely wide. 0: none.
  uint64_t bytes_max = uint64_t{2} << 30;
  uint64_t (*cpu_ns)() = thread_cpu_ns;  // tests put their own clock here
  WorkGuard* guard = nullptr;            // of the thread that decodes, borrowed; null: nobody asks it to end or to wait
  SampleMemory* memory = nullptr;        // of the thread that decodes, which counts what is taken; null: nobody counts
  bool only_libjpeg = false;             // every JPEG is libjpeg-turbo's to decode, also where own code gives the same
};

}  // namespace spdld::media
