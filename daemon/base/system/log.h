// The daemon's log. Where stderr is systemd's journal, a line is an entry there, with fields: PRIORITY, and what it is
// about (SPDLD_PIPELINE, SPDLD_SAMPLE). Elsewhere it is a line of text on stderr. spdlog stands behind this header, in
// one source file, so that no other file compiles spdlog. Any thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace spdld::log {

enum class Level : uint8_t { kTrace, kDebug, kInfo, kWarn, kError, kCritical };

// The most bytes of a text in a line. A longer text is cut, and ends with "...".
inline constexpr size_t kWordBytesMax = 2048;

// A text or a number that replaces a {} of a sentence. A text is not copied: it lives as long as the call. Control
// characters of a text are written \xNN, so that one call is one line.
class Word {
 public:
  Word(std::string_view text) : value_(text) {}
  Word(const std::string& text) : value_(std::string_view(text)) {}
  Word(const char* text) : value_(std::string_view(text)) {}
  template <std::signed_integral T>
  Word(T number) : value_(static_cast<int64_t>(number)) {}
  template <std::unsigned_integral T>
  Word(T number) : value_(static_cast<uint64_t>(number)) {}
  Word(double number) : value_(number) {}

  using Value = std::variant<std::string_view, int64_t, uint64_t, double>;
  const Value& value() const { return value_; }

 private:
  Value value_;
};

// The subject of a line. The pipeline's name lives as long as the call.
struct About {
  std::string_view pipeline;
  std::optional<uint64_t> sample = {};
};

// From now on the log has lines of this level and above. Precondition: `name` is trace, debug, info, warn or error.
void set_level(std::string_view name);
bool is_on(Level level);

// Writes a line. Each {} of `sentence` is replaced by one of the words, in their order, with fmt's specifications
// ({:.2f}) where wanted.
void write(Level level, const About& about, std::string_view sentence, std::initializer_list<Word> words);

// Writes a line, where lines of this sentence and pipeline are not too many (LineLimits). Lines that are left out are
// counted in a later line: in the next one of this kind, or in one that tell_left_out() writes.
void write_limited(Level level, const About& about, std::string_view sentence, std::initializer_list<Word> words);
// Writes a line for each kind of lines that were left out, as far as the limits allow. `all`: for all kinds, at the
// end.
void tell_left_out(bool all = false);

template <typename... Words>
void debug(const About& about, std::string_view sentence, const Words&... words) {
  if (is_on(Level::kDebug)) write(Level::kDebug, about, sentence, {Word(words)...});
}
template <typename... Words>
void debug(std::string_view sentence, const Words&... words) {
  debug(About{}, sentence, words...);
}
template <typename... Words>
void info(const About& about, std::string_view sentence, const Words&... words) {
  if (is_on(Level::kInfo)) write(Level::kInfo, about, sentence, {Word(words)...});
}
template <typename... Words>
void info(std::string_view sentence, const Words&... words) {
  info(About{}, sentence, words...);
}
template <typename... Words>
void warn(const About& about, std::string_view sentence, const Words&... words) {
  if (is_on(Level::kWarn)) write(Level::kWarn, about, sentence, {Word(words)...});
}
template <typename... Words>
void warn(std::string_view sentence, const Words&... words) {
  warn(About{}, sentence, words...);
}
template <typename... Words>
void error(const About& about, std::string_view sentence, const Words&... words) {
  write(Level::kError, about, sentence, {Word(words)...});
}
template <typename... Words>
void error(std::string_view sentence, const Words&... words) {
  error(About{}, sentence, words...);
}
template <typename... Words>
void critical(const About& about, std::string_view sentence, const Words&... words) {
  write(Level::kCritical, about, sentence, {Word(words)...});
}
template <typename... Words>
void critical(std::string_view sentence, const Words&... words) {
  critical(About{}, sentence, words...);
}
template <typename... Words>
void limited(Level level, const About& about, std::string_view sentence, const Words&... words) {
  if (is_on(level)) write_limited(level, about, sentence, {Word(words)...});
}

}  // namespace spdld::log
