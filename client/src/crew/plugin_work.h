// An operation of a plug-in as a pipeline has it: bound to what it takes, and run on samples. The state is made when
// the first sample comes. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/src/crew/plugin_library.h"

namespace spdld::client {

// The values that an operation takes or gives. -1: the size differs from sample to sample.
struct PluginValue {
  bool is_tensor = false;
  uint32_t dtype = 0;  // of a tensor: SPDLD_PLUGIN_UINT8 and so on
  std::vector<int64_t> sizes = {};
  friend bool operator==(const PluginValue&, const PluginValue&) = default;
};
std::string plugin_value_text(const PluginValue& value);  // "uint8 [any, 3]" or "bytes"

// Gives memory for results.
class PluginRooms {
 public:
  virtual ~PluginRooms() = default;
  // All zero, and aligned to 16 bytes. Of bytes: one size. The room of the call before is forgotten. Null: there is not
  // so much memory.
  virtual void* make(std::span<const int64_t> sizes, uint64_t bytes) = 0;
};

enum class PluginEnd : uint8_t {
  kDone,
  kBad,     // the sample counts as bad content, and the text is the end of a sentence about the operation
  kDropped  // the sample is left out
};
struct PluginResult {
  PluginEnd end = PluginEnd::kDone;
  uint64_t bytes = 0;  // of bytes: how many of the last room's count
  std::string text = {};
};

class PluginWork {
 public:
  PluginWork() = default;
  ~PluginWork();
  PluginWork(const PluginWork&) = delete;
  PluginWork& operator=(const PluginWork&) = delete;

  // `wanted`: what the pipeline says that the operation gives. SPDLD_INVALID: it does not do that with these settings;
  // the text is the end of a sentence about the operation. Called once.
  CallOutcome bind(const spdld_plugin_operation& operation, std::string settings, const PluginValue& takes,
                   const PluginValue& wanted);

  // Precondition: a tensor's `sizes` fit what the operation takes, and `input` has their bytes.
  PluginResult run(std::span<const uint8_t> input, std::span<const int64_t> sizes, uint64_t key, PluginRooms& rooms);

 private:
  struct Attempt;
  bool has_state(Attempt& attempt);
  void attempt_run(std::span<const uint8_t> input, std::span<const int64_t> sizes, uint64_t key, Attempt& attempt);
  void free_state();

  const spdld_plugin_operation* operation_ = nullptr;
  std::string settings_;
  spdld_plugin_signature takes_ = {}, gives_ = {};
  PluginValue bound_, wanted_;
  bool is_made_ = false;
  void* state_ = nullptr;
};

}  // namespace spdld::client
