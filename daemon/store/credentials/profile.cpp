#include "daemon/store/credentials/profile.h"

#include "config/text/words.h"
#include "daemon/store/credentials/small_file.h"

namespace spdld::store {
namespace {

void add(IniSection& to, const IniFile& from, std::string_view name) {
  const auto found = from.find(name);
  if (found == from.end()) return;
  const bool has_keys = to.contains("aws_access_key_id");
  for (const auto& setting : found->second)  // what stands there already wins, and keys of two files are never mixed
    if (!has_keys || !setting.first.starts_with("aws_")) to.insert(setting);
}

std::string value_of(const IniSection& section, std::string_view name) {
  const auto found = section.find(name);
  return found == section.end() ? "" : found->second;
}

// The setting by which a profile gets its credentials in a way that is not supported; empty: none. A role comes before
// keys of the same profile, and the others after them.
std::string_view unsupported(const IniSection& profile) {
  if (profile.contains("role_arn")) return "role_arn";
  if (profile.contains("aws_access_key_id") || profile.contains("aws_secret_access_key")) return {};
  for (const std::string_view name : {"source_profile", "credential_source", "web_identity_token_file", "sso_session",
                                      "sso_start_url", "sso_account_id", "credential_process", "login_session"}) {
    if (profile.contains(name)) return name;
  }
  return {};
}

}  // namespace

Result<IniFile> ProfileCredentials::read(const char* variable, const char* file_name, std::string& path) const {
  const auto named = environment_(variable), home = environment_("HOME");
  if (!named && !home) return IniFile();
  path = named ? *named : *home + "/.aws/" + file_name;
  if (named && named->starts_with("~/") && home) path = *home + named->substr(1);
  auto text = read_small_file(path, kIniBytesMax);
  if (text) return read_ini(*text, path);
  if (text.error().trouble == Trouble::kNotFound) return IniFile();
  return text.error();
}

Result<Credentials> ProfileCredentials::get(std::stop_token) {
  const auto from_variable = environment_("AWS_PROFILE");
  const bool is_named = !profile_.empty() || from_variable.has_value();
  const std::string profile = !profile_.empty() ? profile_ : from_variable.value_or("default");
  const std::string shown = "the profile \"" + config::printable(profile) + "\"";
  std::string credentials_path, config_path;
  const auto credentials = read("AWS_SHARED_CREDENTIALS_FILE", "credentials", credentials_path);
  const auto config = read("AWS_CONFIG_FILE", "config", config_path);
  if (!credentials) return credentials.error();
  if (!config) return config.error();
  IniSection settings;
  add(settings, *credentials, profile);
  add(settings, *config, "profile " + profile);
  if (profile == "default") add(settings, *config, profile);
  if (settings.empty()) {
    const std::string files = credentials_path.empty() && config_path.empty()
                                  ? "HOME isn't set, nor AWS_SHARED_CREDENTIALS_FILE"
                                  : "neither " + config::printable(credentials_path, 200) + " nor " +
                                        config::printable(config_path, 200) + " has it";
    return Error{is_named ? Trouble::kUsage : Trouble::kNotFound,
                 "there are no settings of " + shown + ": " + files + "."};
  }
  if (const std::string_view way = unsupported(settings); !way.empty()) {
    return Error{Trouble::kUnsupported, shown + " uses " + std::string(way) +
                                            ", which is not supported: give the profile aws_access_key_id and "
                                            "aws_secret_access_key, or name another source of credentials."};
  }
  if (!settings.contains("aws_access_key_id") && !settings.contains("aws_secret_access_key"))
    return Error{is_named ? Trouble::kUsage : Trouble::kNotFound, shown + " has no aws_access_key_id."};
  return checked({value_of(settings, "aws_access_key_id"), value_of(settings, "aws_secret_access_key"),
                  value_of(settings, "aws_session_token")},
                 "the settings of " + shown);
}

}  // namespace spdld::store
