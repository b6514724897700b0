// systemd's journal, by its native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL): a datagram an entry, with fields. No
// library is needed. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/unique_fd.h"

namespace spdld {

// Whether the descriptor `fd` is the journal's stream, as systemd says in $JOURNAL_STREAM ("device:inode"; nullptr: it
// says nothing). A daemon whose stderr leads elsewhere may have inherited the variable.
bool is_journal_stream(int fd, const char* journal_stream);

// An entry. The texts live as long as the call.
struct JournalLine {
  std::string_view message;             // MESSAGE
  int priority = 6;                     // PRIORITY, as syslog numbers it
  std::string_view pipeline = {};       // SPDLD_PIPELINE; empty: the field is left out
  std::optional<uint64_t> sample = {};  // SPDLD_SAMPLE
};

class Journal {
 public:
  static constexpr const char* kSocket = "/run/systemd/journal/socket";

  explicit Journal(std::string socket = kSocket);

  // False: the journal is not there, or takes no entry now. Never waits.
  bool send(const JournalLine& line) const;

 private:
  const std::string socket_;
  const UniqueFd fd_;
};

// The datagram of an entry.
std::string journal_entry(const JournalLine& line);

}  // namespace spdld
