#include <algorithm>
#include <string_view>

#include "config/operation_types.h"
#include "config/operations/user/user_code.h"
#include "config/segments.h"
#include "config/text/words.h"

namespace spdld::config::ops {
namespace {

constexpr size_t kCallBytesMax = 64;
constexpr size_t kLibraryBytesMax = 1024;
constexpr size_t kSettingsBytesMax = 4096;

// As spdld_plugin.h has it.
bool is_name(std::string_view text) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  return !text.empty() && text.size() <= kCallBytesMax && std::ranges::all_of(text, fits);
}

void check_size(const OperationSpec& spec, std::string_view key, size_t bytes_max, const Complain& complain) {
  const std::string& text = spec.text(key);
  if (text.size() > bytes_max)
    complain(key, "may have at most " + std::to_string(bytes_max) + " bytes, not " + std::to_string(text.size()));
}

void check_plugin(OperationSpec& spec, const Complain& complain) {
  check_code(spec, complain);
  check_size(spec, "library", kLibraryBytesMax, complain);
  check_size(spec, "settings", kSettingsBytesMax, complain);
  if (spec.text("library").empty())
    complain("library", "must be the path of a plug-in's library, such as \"libblur.so\"");
  if (!is_name(spec.text("call")))
    complain("call",
             "must be the name of one of the library's operations, of 1 to 64 letters a to z, digits, \"-\" and "
             "\"_\", not " +
                 in_quotes(spec.text("call")));
}

}  // namespace

OperationType plugin() {
  return {
      .name = "plugin",
      .takes = {SignatureKind::kBytes, SignatureKind::kInteger, SignatureKind::kTensor},
      .gives = {SignatureKind::kBytes, SignatureKind::kTensor},
      .help =
          "Call an operation of a plug-in in C (spdld_plugin.h), in processes of the trainer's user. It is given "
          "bytes or a tensor: of a picture [height, width, channels], of an integer an int64 without dimensions.",
      .parameters = {{.name = "library",
                      .type = ParameterType::kText,
                      .help = "the file of the plug-in: its path, from the folder of the pipeline's file on, or a name "
                              "in a folder of SPDLD_PLUGIN_PATH"},
                     {.name = "call", .type = ParameterType::kText, .help = "the operation's name in the plug-in"},
                     {.name = "settings",
                      .type = ParameterType::kText,
                      .help = "a text for the operation, which says what may stand there",
                      .fallback = Value(std::string())},
                     code_parameter("digest of the plug-in's file, which the client library fills in: another one "
                                    "makes another run"),
                     gives_parameter("what the operation gives; a shape with -1 in the first place: samples differ in "
                                     "length")},
      .bind = bind_gives,
      .check = check_plugin,
      .executor = kUserExecutor};
}

}  // namespace spdld::config::ops
