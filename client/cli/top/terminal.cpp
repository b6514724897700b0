#include "client/cli/top/terminal.h"

#include <langinfo.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <curses.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <string>

#include "client/cli/cli.h"

namespace spdld::cli::top {
namespace {

constexpr int kColumnsMost = 1000, kRowsMost = 500;  // more is not drawn, whatever a terminal claims
constexpr int kEscapeMs = 50;                        // after Esc: a longer sequence would have gone on by then
constexpr std::array<int, 4> kNcursesSignals = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH};

constexpr short kPlainPair = 0, kGoodPair = 1, kWarningPair = 2, kBadPair = 3;

std::string terminal_name() {
  const char* name = std::getenv("TERM");
  return name ? safe_text(name) : "";
}

Size size_of_terminal() {
  winsize size{};
  const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
  if (!is_known) return {};
  return {std::min<size_t>(size.ws_col, kColumnsMost), std::min<size_t>(size.ws_row, kRowsMost)};
}

Key key_of_code(int code) {
  switch (code) {
    case KEY_UP:
      return Key::kUp;
    case KEY_DOWN:
      return Key::kDown;
    case KEY_PPAGE:
      return Key::kPageUp;
    case KEY_NPAGE:
      return Key::kPageDown;
    case KEY_HOME:
      return Key::kHome;
    case KEY_END:
      return Key::kEnd;
    case KEY_ENTER:
    case KEY_RIGHT:
      return Key::kEnter;
    case KEY_LEFT:
    case KEY_BACKSPACE:
      return Key::kBack;
    default:
      return Key::kNone;
  }
}

}  // namespace

bool has_terminal() { return true; }

struct Terminal::State {
  bool has_colour = false, is_utf8 = false;
  SCREEN* screen = nullptr;
  Size size;
  std::array<struct sigaction, kNcursesSignals.size()> actions_before{};

  State() {
    for (size_t s = 0; s < kNcursesSignals.size(); s++) sigaction(kNcursesSignals[s], nullptr, &actions_before[s]);
  }
  ~State() {
    if (screen != nullptr) {
      endwin();
      delscreen(screen);
    }
    restore_actions();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void restore_actions() {
    for (size_t s = 0; s < kNcursesSignals.size(); s++) sigaction(kNcursesSignals[s], &actions_before[s], nullptr);
  }

  void begin_colour() {
    if (!has_colour || !has_colors() || start_color() == ERR) {
      has_colour = false;
      return;
    }
    const short background = use_default_colors() == OK ? -1 : COLOR_BLACK;
    init_pair(kGoodPair, COLOR_GREEN, background);
    init_pair(kWarningPair, COLOR_YELLOW, background);
    init_pair(kBadPair, COLOR_RED, background);
  }

  short pair_of(Style style) const {
    if (!has_colour) return kPlainPair;
    if (style == Style::kGood) return kGoodPair;
    if (style == Style::kWarning) return kWarningPair;
    return style == Style::kBad ? kBadPair : kPlainPair;
  }

  attr_t attributes_of(Style style, bool is_reversed) const {
    attr_t attributes = A_NORMAL;
    if (is_reversed) attributes |= A_REVERSE;
    if (style == Style::kStrong) attributes |= A_BOLD;
    if (style == Style::kDim) attributes |= A_DIM;
    return attributes;
  }

  // Draws a span from `column` on, and moves `column` behind it. Only what fits is drawn, so that no row runs into the
  // next one.
  void draw(int row, int& column, const Span& span, bool is_marked) const {
    std::string_view rest = span.text;
    const attr_t attributes = attributes_of(span.style, is_marked || span.is_reversed);
    const short pair = is_marked ? kPlainPair : pair_of(span.style);  // a marked row has one colour
    while (!rest.empty()) {
      auto character = static_cast<wchar_t>(take_character(rest));
      int wide = wcwidth(character);
      if (wide == 0) continue;
      if (wide < 0 || (!is_utf8 && character > 0x7E)) {
        character = L'?';
        wide = 1;
      }
      if (column + wide > static_cast<int>(size.columns)) return;
      const std::array<wchar_t, 2> text = {character, 0};
      cchar_t cell;
      setcchar(&cell, text.data(), attributes, pair, nullptr);
      mvadd_wch(row, column, &cell);
      column += wide;
    }
  }
};

Terminal::Terminal(bool has_colour) : state_(std::make_unique<State>()) {
  std::setlocale(LC_CTYPE, "");
  state_->is_utf8 = std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  state_->has_colour = has_colour;
  use_tioctl(TRUE);
  set_escdelay(kEscapeMs);
  state_->screen = newterm(nullptr, stdout, stdin);
  state_->restore_actions();  // signals.h holds the signals back, and ncurses' handlers have nothing to do
  if (state_->screen == nullptr)
    throw Failure(kWrong, "the terminal \"" + terminal_name() +
                              "\" is not known here: set TERM to a terminal that is known, or use --batch.");
  if (tigetstr("cup") == nullptr || tigetstr("cup") == reinterpret_cast<char*>(-1))
    throw Failure(kWrong, "the terminal \"" + terminal_name() + "\" cannot move its cursor: use --batch.");
  cbreak();
  noecho();
  nonl();
  curs_set(0);
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  state_->begin_colour();
  renew();
}

Terminal::~Terminal() = default;

Size Terminal::size() const { return state_->size; }

void Terminal::draw(const Lines& lines) {
  erase();
  for (size_t r = 0; r < std::min(lines.size(), state_->size.rows); r++) {
    int column = 0;
    const int row = static_cast<int>(r);
    for (const Span& span : lines[r].spans) state_->draw(row, column, span, lines[r].is_reversed);
    const std::string rest(state_->size.columns - std::min(state_->size.columns, static_cast<size_t>(column)), ' ');
    if (lines[r].is_reversed) state_->draw(row, column, {rest}, true);
  }
  refresh();
}

std::optional<Key> Terminal::key() {
  wint_t character = 0;
  const int result = get_wch(&character);
  if (result == ERR) return std::nullopt;
  return result == KEY_CODE_YES ? key_of_code(static_cast<int>(character)) : key_of(static_cast<char32_t>(character));
}

void Terminal::renew() {
  state_->size = size_of_terminal();
  resizeterm(static_cast<int>(state_->size.rows), static_cast<int>(state_->size.columns));
  clearok(curscr, TRUE);
}

void Terminal::stop() {
  endwin();
  // The signal's own action stops the process, and leaves a process alone whose shell has gone.
  sigset_t stopping;
  sigemptyset(&stopping);
  sigaddset(&stopping, SIGTSTP);
  raise(SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &stopping, nullptr);
  pthread_sigmask(SIG_BLOCK, &stopping, nullptr);
  renew();
}

}  // namespace spdld::cli::top
