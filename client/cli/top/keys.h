// Keys by their meaning. Pure; any thread.
#pragma once

#include <cstdint>

namespace spdld::cli::top {

enum class Key : uint8_t {
  kNone,  // a key without a meaning
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kEnter,
  kBack,
  kQuit,
  kNextColumn,
  kPreviousColumn,
  kReverse,
  kWindow1,
  kWindow10,
  kWindow60,
  kPause,
  kSessions,
  kHelp,
  kRedraw
};

// Of a key that gives a character.
Key key_of(char32_t character);

}  // namespace spdld::cli::top
