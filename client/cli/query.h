// Asks the daemon, by way of libspdld. One thread.
#pragma once

#include <spdld.h>

#include <spdld.hpp>
#include <string>

#include "client/cli/cli.h"
#include "config/text/json.h"

namespace spdld::cli {

// The exit code for a failed call of libspdld.
ExitCode exit_code_of(spdld_result result);

// The document that the daemon answers to a query; throws Failure.
config::Json ask(const Globals& globals, const char* topic, const std::string& argument = {});

// The document that the daemon answers about the pipeline that this loader has, whatever other pipelines have its name.
// `words` stand between the pipeline's name and the loader's group.
config::Json ask_of(const Globals& globals, const Loader& loader, const char* topic, const std::string& words);

// The name of the open pipeline that a job of this group has a ring of (throws Failure where there is none).
std::string open_pipeline_of(const Globals& globals, const std::string& group);

// Fields of a document. Throws Failure, with a sentence, when a daemon of another version answers something else.
std::string text_at(const config::Json& document, const char* key);
double number_at(const config::Json& document, const char* key);
uint64_t count_at(const config::Json& document, const char* key);
const config::Json& table_at(const config::Json& document, const char* key);
const config::Json& list_at(const config::Json& document, const char* key);

// Fields that a document may lack: a field that is missing or of another type is read as empty.
std::string text_or_empty(const config::Json& document, const char* key);
double number_or_zero(const config::Json& document, const char* key);
uint64_t count_or_zero(const config::Json& document, const char* key);
bool flag_or_false(const config::Json& document, const char* key);
const config::Json& table_or_empty(const config::Json& document, const char* key);
const config::Json& list_or_empty(const config::Json& document, const char* key);

// Writes to stdout (throws Failure when it can't).
void print(const std::string& text);
void print_json(const config::Json& document);

}  // namespace spdld::cli
