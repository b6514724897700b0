// Arbitrary texts, and sound ones with a part written over, as a loader's state: what is taken is sound, and is written
// as a text that says the same. The first byte chooses, and the second says where the part begins.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "client/src/state.h"

namespace {

using namespace spdld::client;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string text_of(const uint8_t* bytes, size_t size) {
  if (size < 3) return {};
  const std::string part(reinterpret_cast<const char*>(bytes) + 3, size - 3);
  if (bytes[0] % 3 == 0) return part;
  std::string text =
      bytes[0] % 3 == 1
          ? R"({"format":1,"pipeline":"p","fingerprint":"1-615b-c0ffee-30","seed":17,"epoch":1,"step":2,"samples":96,)"
            R"("global_size":48,"world_size":1})"
          : R"({"format":2,"pipeline":"p","fingerprint":"1-615b-c0ffef-30","seed":17,"epoch":1,"step":2,"samples":96,)"
            R"("global_size":48,"world_size":1,"keys":"a/b=AAAAAAAAAAA /c=AAAAAAAAAAB seed=P__________"})";
  return text.replace(bytes[1] % text.size(), bytes[2], part);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  State state;
  const CallOutcome outcome = read_state(text_of(bytes, size), state);
  require(outcome.ok() == outcome.text.empty());
  if (!outcome.ok()) return 0;
  State again;
  require(read_state(to_json(state), again).ok());
  require(again.pipeline == state.pipeline && again.fingerprint == state.fingerprint && again.seed == state.seed &&
          again.position == state.position && again.samples == state.samples &&
          again.global_size == state.global_size && again.world_size == state.world_size &&
          again.key_digests == state.key_digests);
  Terms terms;
  terms.key_digests = "a/b=AAAAAAAAAAA /d=AAAAAAAAAAB";
  terms.fingerprint = "1-615b-c0ffee-30", terms.seed = 17, terms.global_size = 48, terms.steps_per_epoch = 100;
  const CallOutcome checked = check_state(state, terms);
  require(checked.ok() == checked.text.empty());
  const Position position = position_in(state, terms);
  require(position.step < terms.steps_per_epoch && position.epoch >= state.position.epoch);
  return 0;
}
