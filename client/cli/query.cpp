#include "client/cli/query.h"

#include <cmath>
#include <cstdio>
#include <memory>

#include "client/cli/format.h"

namespace spdld::cli {
namespace {

constexpr int64_t kTimeoutMs = 5000;

[[noreturn]] void odd_answer(const char* key, const char* wanted) {
  throw Failure(kWrong, std::string("the daemon's answer has no ") + wanted + " \"" + key +
                            "\": it is of another version than this spdlctl; compare `spdlctl ping` and `spdlctl "
                            "--version`.");
}

// A document that is no table has no fields.
const nlohmann::json* field_of(const nlohmann::json& document, const char* key) {
  const auto found = document.find(key);
  return found == document.end() ? nullptr : &*found;
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

nlohmann::json ask(const Globals& globals, const char* topic, const std::string& argument) {
  char* text = nullptr;
  const spdld_result result =
      spdld_query(globals.socket_or_null(), topic, argument.empty() ? nullptr : argument.c_str(),
                  globals.timeout_ms.value_or(kTimeoutMs), &text);
  const std::unique_ptr<char, void (*)(void*)> held(text, &spdld_free);
  if (result != SPDLD_OK) throw Failure(exit_code_of(result), spdld_last_error());
  auto document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object()) throw Failure(kWrong, std::string("the daemon's answer to ") + topic + " is not JSON.");
  return document;
}

std::string text_at(const nlohmann::json& document, const char* key) {
  const auto found = document.find(key);
  if (found == document.end() || !found->is_string()) odd_answer(key, "text");
  return safe_text(found->get_ref<const std::string&>());
}

double number_at(const nlohmann::json& document, const char* key) {
  const auto found = document.find(key);
  if (found == document.end() || !found->is_number()) odd_answer(key, "number");
  return found->get<double>();
}

uint64_t count_at(const nlohmann::json& document, const char* key) {
  const double number = number_at(document, key);
  return number > 0 && std::isfinite(number) ? document.at(key).get<uint64_t>() : 0;
}

const nlohmann::json& table_at(const nlohmann::json& document, const char* key) {
  const auto found = document.find(key);
  if (found == document.end() || !found->is_object()) odd_answer(key, "table");
  return *found;
}

const nlohmann::json& list_at(const nlohmann::json& document, const char* key) {
  const auto found = document.find(key);
  if (found == document.end() || !found->is_array()) odd_answer(key, "list");
  return *found;
}

std::string text_or_empty(const nlohmann::json& document, const char* key) {
  const auto* field = field_of(document, key);
  return field != nullptr && field->is_string() ? safe_text(field->get_ref<const std::string&>()) : std::string();
}

double number_or_zero(const nlohmann::json& document, const char* key) {
  const auto* field = field_of(document, key);
  return field != nullptr && field->is_number() ? field->get<double>() : 0;
}

uint64_t count_or_zero(const nlohmann::json& document, const char* key) {
  const auto* field = field_of(document, key);
  return field != nullptr && field->is_number() ? count_at(document, key) : 0;
}

bool flag_or_false(const nlohmann::json& document, const char* key) {
  const auto* field = field_of(document, key);
  return field != nullptr && field->is_boolean() && field->get<bool>();
}

const nlohmann::json& table_or_empty(const nlohmann::json& document, const char* key) {
  static const nlohmann::json none = nlohmann::json::object();
  const auto* field = field_of(document, key);
  return field != nullptr && field->is_object() ? *field : none;
}

const nlohmann::json& list_or_empty(const nlohmann::json& document, const char* key) {
  static const nlohmann::json none = nlohmann::json::array();
  const auto* field = field_of(document, key);
  return field != nullptr && field->is_array() ? *field : none;
}

void print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) throw Failure(kWrong, "can't write to standard output.");
}

void print_json(const nlohmann::json& document) {
  print(document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace spdld::cli
