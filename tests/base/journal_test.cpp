// Entries for systemd's journal, and the log's own lines: as a child process writes them to a journal of the test's, or
// to a plain stderr.
#include "daemon/base/system/journal.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fcntl.h>
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "daemon/base/system/cut_text.h"
#include "tests/support/temp_dir.h"

namespace spdld::journal_test {

using namespace std::string_literals;

// A socket where the journal's would be.
class FakeJournal {
 public:
  FakeJournal() : path_((folder_.path() / "socket").string()), fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(path_.begin(), path_.end(), address.sun_path);
    REQUIRE(bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  const std::string& path() const { return path_; }
  std::string receive() const {
    std::array<char, 65536> bytes{};
    const ssize_t size = recv(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    return size < 0 ? "nothing" : std::string(bytes.data(), static_cast<size_t>(size));
  }

 private:
  test::TempDir folder_;
  const std::string path_;
  const UniqueFd fd_;
};

TEST_CASE("an entry's fields are lines, and a value with a line's end has its length in front") {
  CHECK(journal_entry({"a=b", 4, "train", 12}) ==
        "MESSAGE=a=b\nPRIORITY=4\nSYSLOG_IDENTIFIER=spdld\nSPDLD_PIPELINE=train\nSPDLD_SAMPLE=12\n");
  CHECK(journal_entry({"x\nPRIORITY=0"}) ==
        "MESSAGE\n\x0C\0\0\0\0\0\0\0x\nPRIORITY=0\nPRIORITY=6\nSYSLOG_IDENTIFIER=spdld\n"s);
}

TEST_CASE("an entry is one datagram, and a journal that is not there is no error") {
  const FakeJournal fake;
  const Journal journal(fake.path());
  CHECK(journal.send({"hello", 4}));
  CHECK(fake.receive() == "MESSAGE=hello\nPRIORITY=4\nSYSLOG_IDENTIFIER=spdld\n");
  CHECK_FALSE(Journal(fake.path() + "-none").send({"hello"}));
  CHECK_FALSE(Journal(std::string(200, 'x')).send({"hello"}));
}

TEST_CASE("a journal that takes no entry is not waited for") {
  const FakeJournal fake;
  const Journal journal(fake.path());
  size_t sent = 0;
  while (sent < 100'000 && journal.send({"hello"})) sent++;
  CHECK(sent > 0);
  CHECK(sent < 100'000);
}

TEST_CASE("stderr is the journal's stream where the device and the inode agree") {
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  struct stat status {};
  REQUIRE(fstat(null.get(), &status) == 0);
  const std::string device = std::to_string(status.st_dev), inode = std::to_string(status.st_ino);
  CHECK(is_journal_stream(null.get(), (device + ":" + inode).c_str()));
  CHECK_FALSE(is_journal_stream(null.get(), (device + ":" + inode + "0").c_str()));
  CHECK_FALSE(is_journal_stream(null.get(), (inode + ":" + device + "1").c_str()));
  CHECK_FALSE(is_journal_stream(null.get(), nullptr));
  CHECK_FALSE(is_journal_stream(-1, (device + ":" + inode).c_str()));
}

TEST_CASE("a long text is cut between its characters") {
  CHECK(cut_text("whole", 5) == "whole");
  CHECK(cut_text("too long", 7) == "too ...");
  CHECK(cut_text("ab\xE2\x82\xAC\xE2\x82\xAC", 7) == "ab...");
  CHECK(cut_text(std::string(9, '\x80'), 8).size() <= 8);
  CHECK(cut_text("abcd", 2) == "...");
}

}  // namespace spdld::journal_test
