// The border for texts: every text of a client's message is held to the rule of its kind (proto/text.h), once, before
// anything uses the message. No text is cut. The text of a spec has its own rules, where it is read as TOML or JSON.
// Pure; any thread.
#pragma once

#include <string>

#include "proto/message.h"

namespace spdld::control {

// A sentence that names the message and the field, and never holds the text itself; empty: every text is sound.
std::string text_fault(const proto::Hello& hello);
std::string text_fault(const proto::Attach& attach);
std::string text_fault(const proto::Query& query);
std::string text_fault(const proto::JoinCrew& join);
std::string text_fault(const proto::CrewProgress& progress);
std::string text_fault(const proto::CrewFailed& failed);
std::string text_fault(const proto::WorkerEnded& ended);

}  // namespace spdld::control
