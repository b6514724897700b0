#include "client/cli/query.h"

#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

#include "client/cli/format.h"

namespace spdld::cli {
namespace {

constexpr int64_t kTimeoutMs = 5000;

[[noreturn]] void odd_answer(const char* key, const char* wanted) {
  throw Failure(kWrong, std::string("the daemon's answer has no ") + wanted + " \"" + key +
                            "\": it is of another version than this spdlctl; compare `spdlctl ping` and `spdlctl "
                            "--version`.");
}

}  // namespace

ExitCode exit_code_of(spdld_result result) {
  switch (result) {
    case SPDLD_OK:
    case SPDLD_END_OF_EPOCH:
    case SPDLD_END:
      return kFine;
    case SPDLD_NO_DAEMON:
      return kNoDaemon;
    case SPDLD_DENIED:
      return kDenied;
    case SPDLD_TIMEOUT:
      return kTimedOut;
    default:
      return kWrong;
  }
}

namespace {

config::Json ask_at(const Globals& globals, const char* socket, const char* topic, const std::string& argument) {
  char* text = nullptr;
  const spdld_result result = spdld_query(socket, topic, argument.empty() ? nullptr : argument.c_str(),
                                          globals.timeout_ms.value_or(kTimeoutMs), &text);
  const std::unique_ptr<char, void (*)(void*)> held(text, &spdld_free);
  if (result == SPDLD_NOT_FOUND) throw NotFound(exit_code_of(result), spdld_last_error());
  if (result != SPDLD_OK) throw Failure(exit_code_of(result), spdld_last_error());
  auto document = config::Json::parse(text);
  if (!document || !document->is_object())
    throw Failure(kWrong, std::string("the daemon's answer to ") + topic + " is not JSON.");
  return std::move(*document);
}

}  // namespace

config::Json ask(const Globals& globals, const char* topic, const std::string& argument) {
  return ask_at(globals, globals.socket_or_null(), topic, argument);
}

config::Json ask_of(const Globals& globals, const Loader& loader, const char* topic, const std::string& words) {
  const spdld_info info = loader.info();
  const std::string argument = std::string(info.pipeline) + " " + words + " group " + info.group;
  return ask_at(globals, info.socket, topic, argument);
}

std::string open_pipeline_of(const Globals& globals, const std::string& group) {
  const config::Json list = ask(globals, "list");
  for (const auto& pipeline : list_at(list, "pipelines")) {
    if (count_at(pipeline, "rings") == 0) continue;
    const std::string name = text_at(pipeline, "name");
    const config::Json described = ask(globals, "describe", name);
    for (const auto& ring : list_at(described, "rings"))
      if (text_at(ring, "group") == group) return name;
  }
  throw Failure(kWrong, "the daemon has closed the pipeline meanwhile: try again.");
}

std::string text_at(const config::Json& document, const char* key) {
  const config::Json* const found = document.find(key);
  if (found == nullptr || !found->is_string()) odd_answer(key, "text");
  return safe_text(found->text());
}

double number_at(const config::Json& document, const char* key) {
  const config::Json* const found = document.find(key);
  if (found == nullptr || !found->is_number()) odd_answer(key, "number");
  return found->number();
}

uint64_t count_at(const config::Json& document, const char* key) {
  const double number = number_at(document, key);
  return number > 0 && std::isfinite(number) ? document.find(key)->count() : 0;
}

const config::Json& table_at(const config::Json& document, const char* key) {
  const config::Json* const found = document.find(key);
  if (found == nullptr || !found->is_object()) odd_answer(key, "table");
  return *found;
}

const config::Json& list_at(const config::Json& document, const char* key) {
  const config::Json* const found = document.find(key);
  if (found == nullptr || !found->is_array()) odd_answer(key, "list");
  return *found;
}

std::string text_or_empty(const config::Json& document, const char* key) {
  const config::Json* const field = document.find(key);
  return field != nullptr && field->is_string() ? safe_text(field->text()) : std::string();
}

double number_or_zero(const config::Json& document, const char* key) {
  const config::Json* const field = document.find(key);
  return field != nullptr && field->is_number() ? field->number() : 0;
}

uint64_t count_or_zero(const config::Json& document, const char* key) {
  const config::Json* const field = document.find(key);
  return field != nullptr && field->is_number() ? count_at(document, key) : 0;
}

bool flag_or_false(const config::Json& document, const char* key) {
  const config::Json* const field = document.find(key);
  return field != nullptr && field->is_boolean() && field->flag();
}

const config::Json& table_or_empty(const config::Json& document, const char* key) {
  static const config::Json none = config::Json::object();
  const config::Json* const field = document.find(key);
  return field != nullptr && field->is_object() ? *field : none;
}

const config::Json& list_or_empty(const config::Json& document, const char* key) {
  static const config::Json none = config::Json::array();
  const config::Json* const field = document.find(key);
  return field != nullptr && field->is_array() ? *field : none;
}

void print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) throw Failure(kWrong, "can't write to standard output.");
}

void print_json(const config::Json& document) { print(document.dump(2) + "\n"); }

}  // namespace spdld::cli
