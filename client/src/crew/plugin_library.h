// The library of a plug-in (client/include/spdld_plugin.h): loaded, with its table checked. A plug-in is code of the
// user's own in a process of the user's: the checks find mistakes, and no malice.
#pragma once

#include <spdld_plugin.h>

#include <string>
#include <string_view>
#include <vector>

#include "client/src/calls/outcome.h"

namespace spdld::client {

// Stays loaded until the process ends, whatever becomes of this object. One thread.
class PluginLibrary {
 public:
  // SPDLD_INVALID: the text is the end of a sentence about the library, such as "has no entry spdld_plugin".
  CallOutcome open(const std::string& path);

  const std::vector<const spdld_plugin_operation*>& operations() const { return operations_; }
  // Null: it has none of this name.
  const spdld_plugin_operation* find(std::string_view name) const;
  std::string names() const;  // "blur, grey" or "nothing"

 private:
  std::vector<const spdld_plugin_operation*> operations_;
};

// The sentence that a plug-in wrote into the memory for it, as a line of UTF-8.
std::string plugin_sentence(const char* error, size_t size);

}  // namespace spdld::client
