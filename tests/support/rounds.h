// How often a test repeats something at random. Under a sanitizer, where code takes many times as long, it repeats it a
// fifth as often: the whole number is for values, and runs without one; the fuzzers search on under the sanitizers.
#pragma once

namespace spdld::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

constexpr int rounds(int all) { return kSanitized && all >= 5 ? all / 5 : all; }

}  // namespace spdld::test
