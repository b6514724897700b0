// The causes of trouble with a GPU, by name. Every sentence for people begins with the name of its cause and says what
// to do: "exclusive-process: GPU 0 (...) ...". The names are the user's to search for, and never change.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "proto/cuda/abi.h"

namespace spdld::cuda {

enum class Cause : uint8_t {
  kNoDriver,          // no libcuda.so.1 here, or one that can't start
  kDriverTooOld,      // it lacks an entry
  kNoGpu,             // a driver, and no GPU that this process may see
  kGpuNotVisible,     // the process does not see this GPU
  kExclusiveProcess,  // the GPU takes one process alone
  kOutOfMemory,       // of the GPU, or pinned memory
  kOtherNamespace,    // daemon and trainer share no IPC or PID namespace
  kOtherUser,         // daemon and trainer are different users
  kMig,               // a slice of a GPU (MIG), which can't do this
  kSameProcess,       // exporter and importer are one process
  kForked,            // CUDA had been initialised before this process was forked
  kContextLost,       // an error after which the driver refuses all further work on this GPU
  kUnsupported,       // this GPU or driver can't do it
  kFailed,            // anything else
};

// "no-driver", "driver-too-old", "no-gpu", "gpu-not-visible", "exclusive-process", "out-of-memory", "other-namespace",
// "other-user", "mig", "same-process", "forked", "context-lost", "unsupported", "failed".
std::string_view name_of(Cause cause);
// Advice on what to do, where the cause alone tells it; else empty.
std::string_view advice_of(Cause cause);

// The cause of a call's result, as far as the number alone tells it.
Cause cause_of(abi::Result code);
// Whether every further call on the context fails with the same code. After some of them (MPS's, an external device's)
// only a new process can use the GPU again.
bool is_sticky(abi::Result code);

// The exception of set-up.
class Fault : public std::runtime_error {
 public:
  // what(): "<cause>: <sentence>", and "; <advice>" where the cause has one: `sentence` need not say it.
  Fault(Cause cause, const std::string& sentence, abi::Result code = abi::kSuccess);
  Cause cause() const { return cause_; }
  abi::Result code() const { return code_; }
  // A fault that shares no memory with this one, to be thrown on another thread: copies share their text, and the
  // thread sanitizer does not see that the C++ library counts who has it.
  Fault apart() const { return Fault(*this, std::string(what())); }

 private:
  Fault(const Fault& other, const std::string& text)
      : std::runtime_error(text), cause_(other.cause_), code_(other.code_) {}

  Cause cause_;
  abi::Result code_;
};

}  // namespace spdld::cuda
