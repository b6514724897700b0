// The texts of the protocol: what each kind of text may hold and how long it may be, and how a text from the other side
// is shown to people. The daemon refuses a text that breaks its rule; the client does so before it sends the text.
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace spdld::proto {

enum class TextKind : uint8_t {
  kPipeline,
  kGroup,
  kDevice,
  kClient,
  kCapability,
  kFingerprint,
  kFolder,
  kArgument,
  kKeyDigests,
  kToken,
  kReport,
};
inline constexpr size_t kTextKinds = 11;
inline constexpr size_t kCapabilitiesMax = 64;  // of one HELLO

struct TextRule {
  TextKind kind;
  std::string_view what;      // "the name of a pipeline"
  std::string_view alphabet;  // in words: "letters, digits, ..."
  size_t bytes_max;
};
const TextRule& rule_of(TextKind kind);

// Why the text is none of its kind, as the end of a sentence: "has more than 64 bytes". Empty: nothing is wrong. The
// words never hold the text itself. An empty text is of every kind: it stands for a field that is absent.
std::string text_fault(TextKind kind, std::string_view text);

// The text as it can be shown: a control character, and a byte that belongs to no UTF-8, is written \xNN. `lines`: the
// ends of lines stay as they are.
std::string shown(std::string_view text, bool lines = false);
// The same for a file's name, or a sentence with one: a byte that belongs to no UTF-8 stays as it is.
std::string shown_name(std::string_view text);

}  // namespace spdld::proto
