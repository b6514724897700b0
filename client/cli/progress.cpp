#include "client/cli/progress.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "client/cli/format.h"

namespace spdld::cli {
namespace {

bool takes_progress(int fd) {
  const char* terminal = std::getenv("TERM");
  return isatty(fd) == 1 && (!terminal || std::string_view(terminal) != "dumb");
}

void write(const std::string& text) {
  if (text.empty()) return;
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

StderrProgress::StderrProgress() : is_on_(takes_progress(STDERR_FILENO)) {}

void StderrProgress::show(const text::Progress& progress) {
  if (!is_on_) return;
  const double now_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  const size_t columns = terminal_columns(STDERR_FILENO);
  text::Progress safe = progress;  // the daemon says what is done
  for (std::string* word : {&safe.what, &safe.unit, &safe.made_unit}) *word = safe_text(*word);
  write(line_.show(safe, now_s, columns > 0 ? columns : Page().columns));
}

void StderrProgress::clear() { write(line_.clear()); }

}  // namespace spdld::cli
