#include "daemon/memory/cuda/numa.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <fstream>

namespace spdld::memory {
namespace {

constexpr unsigned long kNodesMax = 1024;
constexpr unsigned long kWordBits = 8 * sizeof(unsigned long);

}  // namespace

int numa_node_of(const std::filesystem::path& sysfs, const std::string& pci) {
  if (pci.empty()) return -1;
  std::ifstream file(sysfs / "bus/pci/devices" / pci / "numa_node");
  int node = -1;
  return file >> node ? node : -1;
}

void prefer_node(void* address, size_t bytes, int node) {
  if (node < 0 || static_cast<unsigned long>(node) >= kNodesMax) return;
  std::array<unsigned long, kNodesMax / kWordBits> mask = {};
  const auto number = static_cast<unsigned long>(node);
  mask[number / kWordBits] = 1ul << number % kWordBits;
  // The kernel takes the number of bits and one. Its refusal costs speed alone.
  syscall(SYS_mbind, address, bytes, MPOL_PREFERRED, mask.data(), kNodesMax + 1, 0u);
}

}  // namespace spdld::memory
