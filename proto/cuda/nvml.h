// NVIDIA's management library, where it is there (libnvidia-ml.so.1, loaded at run time): it tells facts that the
// driver tells only to a process with a context. Its entries are written down from the published NVML API reference.
// Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace spdld::cuda {

class Nvml {
 public:
  // nullptr: the library is not there, or does not start, or this process is a forked child of the process that started
  // it.
  static const Nvml* find();

  struct Memory {
    uint64_t total_bytes = 0, used_bytes = 0;
  };
  // By UUID as to_text() gives it. Empty: the library does not know this GPU, or can't say.
  std::optional<std::string> name_of(const std::string& uuid) const;
  std::optional<Memory> memory_of(const std::string& uuid) const;
  // Bytes of that GPU's memory which process `pid` uses (its context's among them).
  std::optional<uint64_t> used_by(const std::string& uuid, int pid) const;

 private:
  Nvml();
  struct Entries;
  std::shared_ptr<const Entries> entries_;  // none: not usable
};

}  // namespace spdld::cuda
