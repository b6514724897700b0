#include "client/cli/top/keys.h"

namespace spdld::cli::top {

Key key_of(char32_t character) {
  switch (character) {
    case 'k':
      return Key::kUp;
    case 'j':
      return Key::kDown;
    case 'g':
      return Key::kHome;
    case 'G':
      return Key::kEnd;
    case '\n':
    case '\r':
    case 'l':
      return Key::kEnter;
    case 0x1B:
    case 0x08:
    case 0x7F:
      return Key::kBack;
    case 'q':
      return Key::kQuit;
    case 's':
    case '>':
      return Key::kNextColumn;
    case '<':
      return Key::kPreviousColumn;
    case 'r':
      return Key::kReverse;
    case '1':
      return Key::kWindow1;
    case '2':
      return Key::kWindow10;
    case '3':
      return Key::kWindow60;
    case 'p':
    case ' ':
      return Key::kPause;
    case 'v':
    case '\t':
      return Key::kSessions;
    case 'h':
    case '?':
      return Key::kHelp;
    case 0x0C:
      return Key::kRedraw;
    default:
      return Key::kNone;
  }
}

}  // namespace spdld::cli::top
