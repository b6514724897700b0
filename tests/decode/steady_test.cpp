// Once a decoder's memory has grown, planes are decoded without an allocation: neither by us nor by libjpeg.
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>

#include "daemon/decode/image_decoder.h"
#include "tests/decode/planes_memory.h"
#include "tests/support/jpeg_maker.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SPDLD_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SPDLD_COUNTS_ALLOCATIONS 0
#endif
#endif
#if !defined(SPDLD_COUNTS_ALLOCATIONS) && defined(__GLIBC__)
#define SPDLD_COUNTS_ALLOCATIONS 1
#endif

#if SPDLD_COUNTS_ALLOCATIONS

namespace {
std::atomic<long> allocations{0};
}

// In the place of glibc's, for the whole program and the libraries that it loads; operator new comes here as well.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

__attribute__((visibility("default"))) void* malloc(size_t size) { return ++allocations, __libc_malloc(size); }
__attribute__((visibility("default"))) void* calloc(size_t count, size_t size) {
  return ++allocations, __libc_calloc(count, size);
}
__attribute__((visibility("default"))) void* realloc(void* memory, size_t size) {
  return ++allocations, __libc_realloc(memory, size);
}
__attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t size) {
  return ++allocations, __libc_memalign(alignment, size);
}
__attribute__((visibility("default"))) int posix_memalign(void** memory, size_t alignment, size_t size) {
  ++allocations;
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}

namespace spdld {
namespace {

struct Photo {
  std::vector<uint8_t> jpeg;
  test::PlanesMemory planes;
};

TEST_CASE("planes allocate nothing in steady state", "[decode]") {
  auto decoder = decode::make_jpeg_decoder();
  std::vector<Photo> photos;
  for (int i = 0; i < 24; ++i) {
    test::JpegOptions options;
    options.grey = i % 5 == 1;
    options.progressive = i % 5 == 3;
    options.subsampling = i % 2 == 0 ? test::Subsampling::k420 : test::Subsampling::k444;
    auto jpeg = test::make_jpeg(200 + 10 * i, 400 - 9 * i, options);
    REQUIRE(decoder->open(jpeg, true));
    photos.push_back({std::move(jpeg), test::PlanesMemory(*decoder->planes(), 0)});
  }
  int failed = 0;
  const auto round = [&] {
    for (Photo& photo : photos) {
      failed += !decoder->open(photo.jpeg, true) || !decoder->decode_planes(photo.planes.data());
      failed += !decoder->open(photo.jpeg, true) || !decoder->decode_planes({20, 30, 90, 70}, photo.planes.data());
    }
  };
  const long at_first = allocations;
  round();  // memory grows
  round();  // ... and what was in pieces is put together
  const long before = allocations;
  for (int k = 0; k < 3; ++k) round();
  const long counted = allocations - before;  // a check allocates, for its report
  CHECK(before > at_first);
  CHECK(counted == 0);
  CHECK(failed == 0);
}

}  // namespace
}  // namespace spdld

#else

TEST_CASE("allocations can't be counted under a sanitizer", "[decode]") { SUCCEED("not counted"); }

#endif
