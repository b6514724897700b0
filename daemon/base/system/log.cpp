#include "daemon/base/system/log.h"

#include <fmt/args.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "daemon/base/system/cpu.h"
#include "daemon/base/system/cut_text.h"
#include "daemon/base/system/journal.h"
#include "daemon/base/system/line_limits.h"

namespace spdld::log {
namespace {

spdlog::level::level_enum level_of(Level level) {
  switch (level) {
    case Level::kTrace:
      return spdlog::level::trace;
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
    case Level::kCritical:
      return spdlog::level::critical;
  }
  return spdlog::level::off;
}

// As syslog numbers them.
int priority_of(Level level) {
  switch (level) {
    case Level::kTrace:
    case Level::kDebug:
      return 7;
    case Level::kInfo:
      return 6;
    case Level::kWarn:
      return 4;
    case Level::kError:
      return 3;
    case Level::kCritical:
      return 2;
  }
  return 6;
}

// The journal, where stderr is its stream; else nullptr.
const Journal* journal() {
  static const auto found = is_journal_stream(STDERR_FILENO, std::getenv("JOURNAL_STREAM"))
                                ? std::make_unique<const Journal>()
                                : std::unique_ptr<const Journal>();
  return found.get();
}

spdlog::logger& logger() {
  static const auto made = [] {
    auto log = std::make_shared<spdlog::logger>("spdld", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    log->set_pattern(journal() == nullptr ? "%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v" : "%v");
    return log;
  }();
  return *made;
}

LineLimits& limits() {
  static LineLimits made;
  return made;
}

bool is_control(const char* at, const char* end) {
  const auto byte = static_cast<unsigned char>(*at);
  const bool c1 = byte == 0xC2 && at + 1 < end && static_cast<unsigned char>(at[1]) >= 0x80 &&
                  static_cast<unsigned char>(at[1]) < 0xA0;
  return byte < 0x20 || byte == 0x7F || c1;
}

// A word may be a file's name: with a line's end in it, it could forge a line of the log.
std::string on_one_line(std::string_view text) {
  std::string plain;
  for (const char *at = text.data(), *end = at + text.size(); at != end; ++at) {
    if (!is_control(at, end)) {
      plain += *at;
      continue;
    }
    if (static_cast<unsigned char>(*at) == 0xC2) ++at;
    plain += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(*at)));
  }
  return plain;
}

struct Push {
  fmt::dynamic_format_arg_store<fmt::format_context>& store;
  void operator()(std::string_view text) const { store.push_back(on_one_line(cut_text(text, kWordBytesMax))); }
  template <typename T>
  void operator()(T number) const {
    store.push_back(number);
  }
};

std::string line_of(std::string_view sentence, std::initializer_list<Word> words) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const Word& word : words) std::visit(Push{store}, word.value());
  return fmt::vformat(sentence, store);
}

void put(Level level, const About& about, std::string line) {
  if (!logger().should_log(level_of(level))) return;
  if (journal() != nullptr) {
    const std::string pipeline = on_one_line(cut_text(about.pipeline, kWordBytesMax));
    if (journal()->send({line, priority_of(level), pipeline, about.sample})) return;
    // On its stream the journal takes the level from the line's beginning (sd-daemon(3)).
    line.insert(0, fmt::format("<{}>", priority_of(level)));
  }
  logger().log(level_of(level), line);
}

}  // namespace

void set_level(std::string_view name) { logger().set_level(spdlog::level::from_str(std::string(name))); }

bool is_on(Level level) { return logger().should_log(level_of(level)); }

void write(Level level, const About& about, std::string_view sentence, std::initializer_list<Word> words) {
  put(level, about, line_of(sentence, words));
}

void write_limited(Level level, const About& about, std::string_view sentence, std::initializer_list<Word> words) {
  const std::optional<uint64_t> left_out = limits().take(sentence, about.pipeline, monotonic_ns());
  if (!left_out) return;
  std::string line = line_of(sentence, words);
  if (*left_out > 0) line += fmt::format(" ({} like this were left out)", *left_out);
  put(level, about, std::move(line));
}

void tell_left_out(bool all) {
  for (const LineLimits::LeftOut& kind : limits().take_left_out(monotonic_ns(), all)) {
    const std::string of = kind.sentence.empty() ? "of several kinds" : "like \"" + kind.sentence + "\"";
    const std::string pipeline = kind.pipeline.empty() ? "" : "pipeline " + kind.pipeline + ": ";
    put(Level::kWarn, {kind.pipeline},
        on_one_line(fmt::format("{}{} lines {} were left out", pipeline, kind.lines, of)));
  }
}

}  // namespace spdld::log
