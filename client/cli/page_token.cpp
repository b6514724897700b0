#include "client/cli/page_token.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <initializer_list>

#include "client/cli/format.h"
#include "config/checks/load.h"
#include "config/text/http_token.h"
#include "proto/unique_fd.h"

namespace spdld::cli {
namespace {

std::string as_file(const std::filesystem::path& file) { return safe_text(file.string()); }

// Why a file's owner or mode does not fit; empty: they do. `open`: the bits of a mode that must not be there.
std::string why_unfit(const struct stat& status, mode_t open, uid_t third_owner) {
  if (!S_ISREG(status.st_mode)) return "is no file";
  const std::initializer_list<uid_t> owners = {0, ::geteuid(), third_owner};
  if (std::find(owners.begin(), owners.end(), status.st_uid) == owners.end()) return "belongs to another user";
  return (status.st_mode & open) != 0 ? "is open to others" : "";
}

uid_t user_spdld() {
  const passwd* const user = ::getpwnam("spdld");
  return user ? user->pw_uid : 0;
}

PageToken none(const std::filesystem::path& file, const std::string& why) { return {"", as_file(file) + " " + why}; }

PageToken token_in(const std::filesystem::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) return none(file, std::string("can't be read: ") + std::strerror(errno));
  if (const std::string why = why_unfit(status, 0027, user_spdld()); !why.empty()) return none(file, why);
  std::array<char, config::kHttpTokenBytesMax + 2> text{};
  const ssize_t count = ::read(fd.get(), text.data(), text.size());
  std::string token(text.data(), static_cast<size_t>(std::max<ssize_t>(count, 0)));
  if (token.ends_with('\n')) token.pop_back();
  return config::is_http_token(token) ? PageToken{token, ""} : none(file, "holds no token");
}

// A port of 0 is the kernel's choice.
bool is_page_of(const config::DaemonSettings& settings, const config::HttpAddress& address) {
  const auto own = config::parse_http_address(settings.http_listen).address;
  if (!own || own->host != address.host || own->path != address.path) return false;
  return own->is_unix() || own->port == 0 || own->port == address.port;
}

}  // namespace

PageToken page_token(const std::string& settings, const config::HttpAddress& address) {
  struct stat status {};
  if (::stat(settings.c_str(), &status) != 0) return none(settings, std::strerror(errno));
  if (const std::string why = why_unfit(status, 0022, 0); !why.empty()) return none(settings, why);
  const auto loaded = config::load_daemon_file(settings);
  if (!loaded) return none(settings, "is no valid file of a daemon: spdlctl check tells why");
  if (!is_page_of(*loaded.value, address)) return none(settings, "is not the file of the daemon that was asked");
  if (loaded.value->http_token_file.empty()) return none(settings, "names no token_file");
  return token_in(loaded.value->http_token_file);
}

}  // namespace spdld::cli
