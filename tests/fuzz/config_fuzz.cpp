// Pipelines as JSON (which clients send) and as TOML, and the daemon's file: the first byte chooses. A value must go
// round.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "config/checks/load.h"

namespace {

using namespace spdld::config;

template <typename T>
void require_value_or_complaint(const Loaded<T>& loaded) {
  if (loaded.value.has_value() != loaded.complaints.empty()) std::abort();
  (void)loaded.sentences();
}

void require_round(const Loaded<PipelineSpec>& loaded) {
  require_value_or_complaint(loaded);
  if (!loaded) return;
  const auto text = full_json(*loaded.value);
  const auto again = load_pipeline_json(text, "again");
  if (!again || full_json(*again.value) != text || canonical_json(*again.value) != canonical_json(*loaded.value)) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  switch (bytes[0] % 3) {
    case 0:
      require_round(load_pipeline_json(text, "fuzz", "/files"));
      break;
    case 1:
      require_round(load_pipeline_toml(text, "fuzz", "/files"));
      (void)guess_kind(text);
      break;
    default:
      require_value_or_complaint(load_daemon_toml(text, "fuzz"));
      break;
  }
  return 0;
}
