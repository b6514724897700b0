// Places host memory near a GPU: copies from another NUMA node cross the link between the nodes. Any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace spdld::memory {

// The NUMA node of a PCI device ("0000:1b:00.0"), as `sysfs` ("/sys") tells it; -1: not known.
int numa_node_of(const std::filesystem::path& sysfs, const std::string& pci);

// Asks for untouched pages on `node`. A wish: where the node is full, or the system forbids it, they lie elsewhere.
void prefer_node(void* address, size_t bytes, int node);

}  // namespace spdld::memory
