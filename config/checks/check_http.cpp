#include <charconv>

#include "config/checks/check.h"
#include "config/text/http_address.h"

namespace spdld::config {

uint32_t check_mode(const TableReader& reader, std::string_view name, uint32_t fallback) {
  const Node* node = reader.find(name);
  if (node == nullptr) return fallback;
  uint32_t mode = 01000;  // beyond what is allowed
  const auto* text = node->text();
  const auto* integer = std::get_if<int64_t>(&node->value);
  if (text != nullptr) {
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), mode, 8);
    if (error != std::errc() || end != text->data() + text->size()) mode = 01000;
  } else if (integer != nullptr && node->octal && *integer <= 0777) {
    mode = static_cast<uint32_t>(*integer);  // octal literals have no sign
  }
  if (mode > 0777 || (mode & 0600) != 0600) {
    reader.complain(name, "must be octal permissions in which the owner reads and writes, such as \"0660\" or 0o660");
  }
  return mode;
}

std::vector<Parameter> http_keys() {
  return {{.name = "listen",
           .type = ParameterType::kText,
           .help = "where /metrics and the page are served; \"\": nowhere",
           .fallback = Value(std::string())},
          {.name = "socket_mode",
           .type = ParameterType::kText,
           .help = "of a Unix socket: who may connect, in octal",
           .fallback = Value(std::string("0600"))},
          {.name = "token_file",
           .type = ParameterType::kText,
           .help = "its one line is what clients must know",
           .fallback = Value(std::string())},
          {.name = "page",
           .type = ParameterType::kFlag,
           .help = "whether the status page is served",
           .fallback = Value(false)}};
}

void check_http(const Node& node, DaemonSettings& settings, Complaints& complaints) {
  const auto keys = http_keys();
  const TableReader reader(node, "http", keys, complaints);
  reader.refuse_unknown();
  settings.http_listen = reader.text("listen");
  settings.http_socket_mode = check_mode(reader, "socket_mode", settings.http_socket_mode);
  settings.http_token_file = reader.text("token_file");
  settings.http_page = reader.flag("page");
  if (!settings.http_token_file.empty() && !settings.http_token_file.is_absolute())
    reader.complain("token_file", "must be an absolute path");
  if (settings.http_listen.empty()) return;
  const auto [address, error] = parse_http_address(settings.http_listen);
  if (!address) return reader.complain("listen", error);
  if (settings.http_page && !address->is_unix() && settings.http_token_file.empty())
    reader.complain("page", "needs token_file beside a TCP address, which every user of this machine can connect to");
}

}  // namespace spdld::config
