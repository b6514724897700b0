// What the programs of this folder share: files in memory, the CPU time of a piece of work, and the median.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <vector>

#include "daemon/base/system/cpu.h"

namespace spdld::bench {

using Bytes = std::vector<uint8_t>;

inline Bytes read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// CPU milliseconds of the calling thread.
inline double ms_of(const std::function<void()>& work) {
  const uint64_t start_ns = thread_cpu_ns();
  work();
  return static_cast<double>(thread_cpu_ns() - start_ns) / 1e6;
}

// `numbers` are not empty; of an even count, the upper one of the two in the middle.
inline double median(std::vector<double> numbers) {
  std::nth_element(numbers.begin(), numbers.begin() + static_cast<ptrdiff_t>(numbers.size() / 2), numbers.end());
  return numbers[numbers.size() / 2];
}

}  // namespace spdld::bench
