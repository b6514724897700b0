// The daemon's log, on stderr. spdlog stands behind this header, in one source file, so that no other file compiles
// spdlog. Any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace spdld::log {

enum class Level : uint8_t { kTrace, kDebug, kInfo, kWarn, kError, kCritical };

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

// From now on the log has lines of this level and above. Precondition: `name` is trace, debug, info, warn or error.
void set_level(std::string_view name);
bool is_on(Level level);

// Writes a line. Each {} of `sentence` is replaced by one of the words, in their order, with fmt's specifications
// ({:.2f}) where wanted.
void write(Level level, std::string_view sentence, std::initializer_list<Word> words);

template <typename... Words>
void debug(std::string_view sentence, const Words&... words) {
  if (is_on(Level::kDebug)) write(Level::kDebug, sentence, {Word(words)...});
}
template <typename... Words>
void info(std::string_view sentence, const Words&... words) {
  if (is_on(Level::kInfo)) write(Level::kInfo, sentence, {Word(words)...});
}
template <typename... Words>
void warn(std::string_view sentence, const Words&... words) {
  if (is_on(Level::kWarn)) write(Level::kWarn, sentence, {Word(words)...});
}
template <typename... Words>
void error(std::string_view sentence, const Words&... words) {
  write(Level::kError, sentence, {Word(words)...});
}
template <typename... Words>
void critical(std::string_view sentence, const Words&... words) {
  write(Level::kCritical, sentence, {Word(words)...});
}

}  // namespace spdld::log
