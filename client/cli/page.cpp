// page: where the status page is, and how to see it.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "client/cli/format.h"
#include "client/cli/new_file.h"
#include "client/cli/page_token.h"
#include "client/cli/query.h"
#include "config/text/http_address.h"
#include "config/text/http_token.h"
#include "proto/unique_fd.h"

extern char** environ;

namespace spdld::cli {
namespace {

using config::Json;

constexpr const char* kSettingsFile = "/etc/spdld/spdld.toml";

struct PageWishes {
  bool no_open = false;
  std::string settings;
};

bool has(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value;
}

// For a value of an attribute in HTML.
std::string in_html(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    const std::string_view special = c == '&'    ? "&amp;"
                                     : c == '<'  ? "&lt;"
                                     : c == '>'  ? "&gt;"
                                     : c == '"'  ? "&quot;"
                                     : c == '\'' ? "&#39;"
                                                 : "";
    if (special.empty())
      safe += c;
    else
      safe += special;
  }
  return safe;
}

// The token stands behind the #, which a browser keeps to itself.
std::string address_of_page(const std::string& at, const std::string& token) {
  return "http://" + at + "/" + (token.empty() ? "" : "#token=" + token);
}

// The daemon's text has no sign that a shell takes for more than a letter.
bool stands_in_a_command(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("/._:-[]").find(c) != std::string_view::npos;
  });
}

std::string by_ssh(const std::string& target) {
  const std::string port = target.starts_with('/') ? "9464" : target.substr(target.rfind(':') + 1);
  return "ssh -N -L " + port + ":" + target + " " + (has("USER") ? std::string(std::getenv("USER")) + "@" : "") +
         "NODE";
}

// A browser's command line can be read by every user of the machine, so it names a file that leads to the page.
bool open_in_browser(const std::string& url) {
  if (!has("XDG_RUNTIME_DIR")) return false;
  const std::string file = std::string(std::getenv("XDG_RUNTIME_DIR")) + "/spdld-page.html";
  const mode_t before = umask(0077);
  try {
    NewFile page(file);
    page.write(
        "<!DOCTYPE html><meta charset=\"utf-8\"><title>spdld</title><meta http-equiv=\"refresh\" content=\"0; url=" +
        in_html(url) + "\">\n");
    page.finish();
  } catch (const Failure&) {
    umask(before);
    return false;
  }
  umask(before);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", O_WRONLY, 0);
  std::string program = "xdg-open", target = file;
  const std::array<char*, 3> words = {program.data(), target.data(), nullptr};
  pid_t child = 0;
  const bool started = posix_spawnp(&child, program.c_str(), &quiet, nullptr, words.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&quiet);
  return started;
}

ExitCode page(const Globals& globals, const PageWishes& wishes) {
  const Json found = ask(globals, "page");
  const std::string address = text_at(found, "address"), named_file = text_at(found, "token_file");
  if (!flag_or_false(found, "page"))
    throw Failure(
        kWrong,
        address.empty()
            ? "this daemon has no page: set listen and page = true in [http] of its file, and restart it."
            : "this daemon serves no page at " + address + ": set page = true in [http] of its file, and restart it.");
  // The daemon may be anybody's: its address must be one of this machine, and it names no file to read.
  const auto at = config::parse_http_address(address).address;
  PageToken known{text_at(found, "token"), ""};
  if (!at || (!known.token.empty() && !config::is_http_token(known.token)))
    throw Failure(kWrong, "the daemon's answer has no address of a page: it is no spdld of this version.");
  if (known.token.empty() && !named_file.empty())
    known = page_token(wishes.settings.empty() ? kSettingsFile : wishes.settings, *at);
  const std::string& token = known.token;
  const bool is_unix = at->is_unix();
  const std::string target = is_unix ? at->path : at->text();
  const std::string url = address_of_page(is_unix ? "localhost:9464" : target, token);
  if (globals.json()) {
    print_json({{"url", url}, {"address", at->text()}});
    return kFine;
  }
  const bool is_desktop = !wishes.no_open && (has("DISPLAY") || has("WAYLAND_DISPLAY"));
  std::string text = url + "\n";
  if (stands_in_a_command(target) && (is_unix || has("SSH_CONNECTION")))
    text += "Where your browser runs, first run: " + by_ssh(target) + "\n";
  if (!known.why.empty())
    text += "The page asks for the daemon's token, which spdlctl does not know: " + known.why +
            " (--config names the daemon's file).\n";
  if (!is_unix && is_desktop && open_in_browser(url)) text += "The page opens in the browser.\n";
  print(safe_lines(text));
  return kFine;
}

void declare_page(config::Arguments command, const Globals& globals, RunCommand& run) {
  const auto wishes = std::make_shared<PageWishes>();
  command.text(
      "--config", wishes->settings, "FILE",
      std::string("the daemon's settings file, which names the token's file (default: ") + kSettingsFile + ")");
  command.flag("--no-open", wishes->no_open, "print the address alone");
  run = [&globals, wishes] { return page(globals, *wishes); };
}

constexpr const char* kPageMore =
    "The page shows pipelines with their rates and waits, what limits them, sessions, errors and the latest pictures. "
    "A private daemon begins to serve the page when this command asks for it. A service serves it where [http] of its "
    "file has a listen address and page = true.\n\n"
    "The command prints the page's address, with the token where this user may know it, and opens the page on a "
    "desktop. In a session of ssh it says how the page comes to the desktop's browser.\n\n"
    "Example:\n"
    "  spdlctl page --no-open";

}  // namespace

Command page_command() { return {"open the daemon's status page in a browser", kPageMore, &declare_page}; }

}  // namespace spdld::cli
