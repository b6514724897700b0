// Arbitrary bytes as a message of the control protocol: refused, or readable to the last field of every table. The same
// bytes as a text: what its rule lets through, and what people are shown, is UTF-8 without control characters.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "proto/key_digests.h"
#include "proto/text.h"
#include "tests/proto/walk.h"
#include "utf8/utf8.h"

namespace {

void look_at_text(std::string_view text) {
  using namespace spdld::proto;
  const auto is_fit = [](std::string_view any) { return spdld::utf8::is_utf8(any) && !spdld::utf8::has_control(any); };
  for (size_t kind = 0; kind < kTextKinds; ++kind) {
    const bool passes = text_fault(static_cast<TextKind>(kind), text).empty();
    const bool may_be_any = static_cast<TextKind>(kind) == TextKind::kReport;  // it is shown escaped alone
    const bool keeps_rule =
        (may_be_any || is_fit(text)) && text.size() <= rule_of(static_cast<TextKind>(kind)).bytes_max;
    if (passes && !keeps_rule) std::abort();
  }
  if (!is_fit(shown(text)) || spdld::utf8::has_control(shown_name(text)) || (is_fit(text) && shown(text) != text))
    std::abort();
}

// Digests of keys come back as the same text, and what is said of them is fit for people and short.
void look_at_digests(std::string_view text) {
  using namespace spdld::proto;
  const auto keys = read_key_digests(text);
  if (keys && write_key_digests(*keys) != text) std::abort();
  FingerprintDifference difference;
  difference.is_of_data = text.size() % 2 == 0;
  for (const std::string_view other : {text.substr(0, text.size() / 2), text, std::string_view("a/b=AAAAAAAAAAA")}) {
    const std::string note = key_note(difference, text, other);
    if (!spdld::utf8::is_utf8(note) || spdld::utf8::has_control(note) || note.size() > 15 * kKeyPathBytesMax + 256)
      std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  look_at_text({reinterpret_cast<const char*>(bytes), size});
  look_at_digests({reinterpret_cast<const char*>(bytes), size});
  const std::vector<uint8_t> aligned(bytes, bytes + size);  // as received; of the exact size, so that ASan sees its end
  const spdld::proto::Message* message = spdld::proto::parse(aligned);
  if (!message) return 0;
  if (message->body_type() == spdld::proto::Body::NONE) std::abort();
  volatile uint64_t sink = spdld::test::sum_of(*message);
  (void)sink;
  return 0;
}
