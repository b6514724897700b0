#include "daemon/base/log.h"

#include <fmt/args.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

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

spdlog::logger& logger() {
  static const auto made = [] {
    auto log = std::make_shared<spdlog::logger>("spdld", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    log->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
    return log;
  }();
  return *made;
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
  void operator()(std::string_view text) const { store.push_back(on_one_line(text)); }
  template <typename T>
  void operator()(T number) const {
    store.push_back(number);
  }
};

}  // namespace

void set_level(std::string_view name) { logger().set_level(spdlog::level::from_str(std::string(name))); }

bool is_on(Level level) { return logger().should_log(level_of(level)); }

void write(Level level, std::string_view sentence, std::initializer_list<Word> words) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const Word& word : words) std::visit(Push{store}, word.value());
  logger().log(level_of(level), fmt::vformat(sentence, store));
}

}  // namespace spdld::log
