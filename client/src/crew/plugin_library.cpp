#include "client/src/crew/plugin_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "utf8/utf8.h"

namespace spdld::client {
namespace {

constexpr uint32_t kOperationsMax = 1024;
constexpr size_t kNameMax = 64;
// Of the structs as version 1 began. Fields that a later header adds do not count.
constexpr size_t kTableSize = sizeof(spdld_plugin_table);
constexpr size_t kOperationSize = sizeof(spdld_plugin_operation);

CallOutcome invalid(std::string text) { return failure(SPDLD_INVALID, std::move(text)); }

std::string loader_words() {
  const char* const words = ::dlerror();
  return words ? plugin_sentence(words, std::strlen(words) + 1) : "the system says no reason";
}

bool is_name(const char* name) {
  if (!name) return false;
  const std::string_view text(name, ::strnlen(name, kNameMax + 1));
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  return !text.empty() && text.size() <= kNameMax && std::ranges::all_of(text, fits);
}

// Why the operation at this place can't be used; empty: it can.
std::string wrong_with(const spdld_plugin_operation* operation, uint32_t at) {
  const std::string place = "operation " + std::to_string(at) + " of its table ";
  if (!operation) return place + "is NULL";
  if (operation->struct_size < kOperationSize)
    return place + "has a struct_size of " + std::to_string(operation->struct_size) + ", and at least " +
           std::to_string(kOperationSize) + " are needed";
  if (!is_name(operation->name)) return place + "has no name of 1 to 64 letters a to z, digits, \"-\" and \"_\"";
  if (!operation->bind || !operation->run) return place + "has no bind or no run";
  if (!operation->make != !operation->free) return place + "has one of make and free, and needs both or neither";
  return "";
}

std::string wrong_with(const spdld_plugin_table* table) {
  const std::string ours = std::to_string(SPDLD_PLUGIN_ABI);
  const std::string remedy = ": build it with the spdld_plugin.h of this spdld";
  if (!table) return "does not speak version " + ours + " of the plug-ins' ABI" + remedy;
  if (table->struct_size < offsetof(spdld_plugin_table, operation_count))
    return "gave a table with a struct_size of " + std::to_string(table->struct_size) + ", which is too short";
  if (table->abi != SPDLD_PLUGIN_ABI)
    return "speaks version " + std::to_string(table->abi) + " of the plug-ins' ABI, and this spdld version " + ours +
           remedy;
  if (table->struct_size < kTableSize)
    return "gave a table with a struct_size of " + std::to_string(table->struct_size) + ", which is too short";
  if (table->operation_count > kOperationsMax)
    return "says that it has " + std::to_string(table->operation_count) + " operations, and " +
           std::to_string(kOperationsMax) + " are the most";
  if (table->operation_count > 0 && !table->operations) return "gave a table without operations";
  return "";
}

}  // namespace

CallOutcome PluginLibrary::open(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return invalid("cannot be loaded: " + loader_words());
  const auto entry = reinterpret_cast<decltype(&spdld_plugin)>(::dlsym(library, "spdld_plugin"));
  if (!entry) return invalid("has no entry spdld_plugin, and so is no plug-in: see spdld_plugin.h");
  const spdld_plugin_table* const table = entry(SPDLD_PLUGIN_ABI);
  if (std::string wrong = wrong_with(table); !wrong.empty()) return invalid(std::move(wrong));
  for (uint32_t at = 0; at < table->operation_count; ++at) {
    const spdld_plugin_operation* const operation = table->operations[at];
    if (std::string wrong = wrong_with(operation, at); !wrong.empty()) return invalid("is faulty: " + wrong);
    if (find(operation->name)) return invalid("is faulty: it has two operations " + std::string(operation->name));
    operations_.push_back(operation);
  }
  return {};
}

const spdld_plugin_operation* PluginLibrary::find(std::string_view name) const {
  const auto found = std::ranges::find_if(operations_, [&](const auto* one) { return one->name == name; });
  return found == operations_.end() ? nullptr : *found;
}

std::string PluginLibrary::names() const {
  std::string names;
  for (const spdld_plugin_operation* operation : operations_)
    names += (names.empty() ? "" : ", ") + std::string(operation->name);
  return names.empty() ? "nothing" : names;
}

std::string plugin_sentence(const char* error, size_t size) {
  constexpr std::string_view kUnknown = "\xEF\xBF\xBD";  // U+FFFD
  std::string_view rest(error, ::strnlen(error, size));
  std::string text;
  while (!rest.empty()) {
    const size_t bytes = utf8::character_bytes(rest);
    if (bytes == 0) {
      text += kUnknown;
    } else if (utf8::is_control(rest, bytes)) {
      text += ' ';
    } else {
      text += rest.substr(0, bytes);
    }
    rest.remove_prefix(std::max<size_t>(bytes, 1));
  }
  while (text.ends_with(' ')) text.pop_back();
  return text.empty() ? "it says no reason" : text;
}

}  // namespace spdld::client
