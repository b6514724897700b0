#include "daemon/base/system/journal.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <utility>

namespace spdld {

bool is_journal_stream(int fd, const char* journal_stream) {
  struct stat status {};
  if (journal_stream == nullptr || fstat(fd, &status) != 0) return false;
  return journal_stream == std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

std::string journal_entry(const JournalLine& line) {
  std::string entry;
  const auto add = [&](std::string_view name, std::string_view value) {
    entry += name;
    // A value with a line's end has its length in front of it.
    if (value.find('\n') == std::string_view::npos) {
      entry += '=';
    } else {
      entry += '\n';
      for (unsigned byte = 0; byte < 8; byte++) entry += static_cast<char>(uint64_t{value.size()} >> (8 * byte) & 0xFF);
    }
    entry.append(value).append("\n");
  };
  add("MESSAGE", line.message);
  add("PRIORITY", std::to_string(line.priority));
  add("SYSLOG_IDENTIFIER", "spdld");
  if (!line.pipeline.empty()) add("SPDLD_PIPELINE", line.pipeline);
  if (line.sample) add("SPDLD_SAMPLE", std::to_string(*line.sample));
  return entry;
}

Journal::Journal(std::string socket)
    : socket_(std::move(socket)), fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}

bool Journal::send(const JournalLine& line) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!fd_ || socket_.size() >= sizeof address.sun_path) return false;
  std::copy(socket_.begin(), socket_.end(), address.sun_path);
  const std::string entry = journal_entry(line);
  const ssize_t sent = sendto(fd_.get(), entry.data(), entry.size(), MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return sent == static_cast<ssize_t>(entry.size());
}

}  // namespace spdld
