// page: where the status page is, and how to see it.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "client/cli/new_file.h"
#include "client/cli/query.h"
#include "proto/unique_fd.h"

extern char** environ;

namespace spdld::cli {
namespace {

using config::Json;

constexpr std::string_view kUnix = "unix:";
constexpr size_t kTokenBytesMax = 256;

struct PageWishes {
  bool no_open = false;
};

bool has(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value;
}

// Empty: this user may not read the file.
std::string token_in(const std::string& file) {
  std::ifstream stream(file);
  std::string token;
  std::getline(stream, token);
  return token.size() <= kTokenBytesMax ? token : "";
}

// The token stands behind the #, which a browser keeps to itself.
std::string address_of_page(const std::string& at, const std::string& token) {
  return "http://" + at + "/" + (token.empty() ? "" : "#token=" + token);
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
        url + "\">\n");
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
  const std::string address = text_at(found, "address"), token_file = text_at(found, "token_file");
  if (!flag_or_false(found, "page"))
    throw Failure(
        kWrong,
        address.empty()
            ? "this daemon has no page: set listen and page = true in [http] of its file, and restart it."
            : "this daemon serves no page at " + address + ": set page = true in [http] of its file, and restart it.");
  std::string token = text_at(found, "token");
  if (token.empty() && !token_file.empty()) token = token_in(token_file);
  const bool is_unix = address.starts_with(kUnix);
  const std::string target = is_unix ? address.substr(kUnix.size()) : address;
  const std::string url = address_of_page(is_unix ? "localhost:9464" : address, token);
  if (globals.json()) {
    print_json({{"url", url}, {"address", address}});
    return kFine;
  }
  const bool is_desktop = !wishes.no_open && (has("DISPLAY") || has("WAYLAND_DISPLAY"));
  std::string text = url + "\n";
  if (is_unix || has("SSH_CONNECTION")) text += "Where your browser runs, first run: " + by_ssh(target) + "\n";
  if (token.empty() && !token_file.empty())
    text += "The page asks for the token in " + token_file + ", which this user may not read.\n";
  if (!is_unix && is_desktop && open_in_browser(url)) text += "The page opens in the browser.\n";
  print(text);
  return kFine;
}

}  // namespace

void declare_page(config::Arguments command, const Globals& globals, Run& run) {
  const auto wishes = std::make_shared<PageWishes>();
  command.flag("--no-open", wishes->no_open, "print the address alone");
  run = [&globals, wishes] { return page(globals, *wishes); };
}

}  // namespace spdld::cli
