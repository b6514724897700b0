// The name of code of the user's own that a pipeline calls, "module:name", and the digest of that code. Pure functions;
// any thread.
#pragma once

#include <string>
#include <string_view>

namespace spdld::config {

// The words for what is called.
struct Called {
  std::string_view noun;     // "function"
  std::string_view word;     // behind "module:"
  std::string_view module;   // of an example: "augment"
  std::string_view example;  // in the module: "blur"
  std::string_view inner;    // inside of something in the module: "Blur.apply"
};

// Why a text is no such digest, or no such name, as the end of a complaint; empty: it is one. A name without a module
// is one where there is a digest: a trainer brings the code along.
std::string code_fault(const std::string& code);
std::string call_fault(const std::string& call, bool has_code, const Called& called);

}  // namespace spdld::config
