// Asks the daemon, by way of libspdld. One thread.
#pragma once

#include <spdld.h>

#include <nlohmann/json.hpp>
#include <string>

#include "client/cli/cli.h"

namespace spdld::cli {

// Of a failed call of libspdld.
ExitCode exit_code_of(spdld_result result);

// The document that the daemon answers; throws Failure.
nlohmann::json ask(const Globals& globals, const char* topic, const std::string& argument = {});

// Fields of a document, with a sentence when a daemon of another version answers something else (throws Failure).
std::string text_at(const nlohmann::json& document, const char* key);
double number_at(const nlohmann::json& document, const char* key);
uint64_t count_at(const nlohmann::json& document, const char* key);
const nlohmann::json& table_at(const nlohmann::json& document, const char* key);
const nlohmann::json& list_at(const nlohmann::json& document, const char* key);

// Fields that an older daemon does not have: nothing is read in their place, and in that of another type's value.
std::string text_or_empty(const nlohmann::json& document, const char* key);
double number_or_zero(const nlohmann::json& document, const char* key);
uint64_t count_or_zero(const nlohmann::json& document, const char* key);
bool flag_or_false(const nlohmann::json& document, const char* key);
const nlohmann::json& table_or_empty(const nlohmann::json& document, const char* key);
const nlohmann::json& list_or_empty(const nlohmann::json& document, const char* key);

// Writes to stdout (throws Failure when it can't).
void print(const std::string& text);
void print_json(const nlohmann::json& document);

}  // namespace spdld::cli
