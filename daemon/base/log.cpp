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

}  // namespace

void set_level(std::string_view name) { logger().set_level(spdlog::level::from_str(std::string(name))); }

bool is_on(Level level) { return logger().should_log(level_of(level)); }

void write(Level level, std::string_view sentence, std::initializer_list<Word> words) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const Word& word : words) std::visit([&store](const auto& value) { store.push_back(value); }, word.value());
  logger().log(level_of(level), fmt::vformat(sentence, store));
}

}  // namespace spdld::log
