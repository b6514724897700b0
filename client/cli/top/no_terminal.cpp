// Stands in the place of terminal.cpp where the program is built without ncurses.
#include "client/cli/cli.h"
#include "client/cli/top/terminal.h"

namespace spdld::cli::top {

bool has_terminal() { return false; }

struct Terminal::State {};

Terminal::Terminal(bool) { throw Failure(kWrong, "this spdlctl was built without ncurses: use --batch."); }
Terminal::~Terminal() = default;
Size Terminal::size() const { return {}; }
void Terminal::draw(const Lines&) {}
std::optional<Key> Terminal::key() { return std::nullopt; }
void Terminal::renew() {}
void Terminal::stop() {}

}  // namespace spdld::cli::top
