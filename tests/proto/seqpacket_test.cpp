#include "proto/seqpacket.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tests/support/temp_dir.h"

namespace spdld::seqpacket_test {

using namespace spdld;
using namespace spdld::proto;

namespace {

const std::vector<uint8_t> kHello = {'h', 'e', 'l', 'l', 'o'};

size_t count_fds() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) count += entry.exists() ? 1 : 0;
  return count;
}

bool holds(const Received& received, const std::vector<uint8_t>& bytes) {
  return std::ranges::equal(received.bytes, bytes);
}

struct Folder : spdld::test::TempDir {
  const std::string path = TempDir::path().string();
};

}  // namespace

TEST_CASE("messages keep their borders and their order") {
  const auto [left, right] = socket_pair();
  Received received;
  CHECK(receive_message(right.get(), received) == IoStatus::kWouldBlock);
  const std::vector<uint8_t> large(kMessageBytesMax, 7);
  REQUIRE(send_message(left.get(), kHello) == IoStatus::kOk);
  REQUIRE(send_message(left.get(), large) == IoStatus::kOk);
  REQUIRE(send_message(left.get(), kHello) == IoStatus::kOk);
  REQUIRE(receive_message(right.get(), received) == IoStatus::kOk);
  CHECK(holds(received, kHello));
  REQUIRE(receive_message(right.get(), received) == IoStatus::kOk);
  CHECK(holds(received, large));
  REQUIRE(receive_message(right.get(), received) == IoStatus::kOk);
  CHECK(holds(received, kHello));
  CHECK(receive_message(right.get(), received) == IoStatus::kWouldBlock);
  CHECK(received.bytes.empty());
}

TEST_CASE("what is too large or empty is not sent") {
  const auto [left, right] = socket_pair();
  CHECK(send_message(left.get(), std::vector<uint8_t>(kMessageBytesMax + 1)) == IoStatus::kTooLarge);
  CHECK(send_message(left.get(), kHello, std::vector<int>(kFdsMax + 1, left.get())) == IoStatus::kTooLarge);
  CHECK(send_message(left.get(), {}) == IoStatus::kFailed);
  Received received;
  CHECK(receive_message(right.get(), received) == IoStatus::kWouldBlock);
}

TEST_CASE("descriptors arrive, up to the kernel's bound, closed on exec, and close with their owner") {
  const size_t before = count_fds();
  {
    const auto [left, right] = socket_pair();
    const UniqueFd memory = text_to_memfd("text", "test");
    for (const size_t count : {size_t{1}, size_t{2}, kFdsMax}) {
      REQUIRE(send_message(left.get(), kHello, std::vector<int>(count, memory.get())) == IoStatus::kOk);
      Received received;
      REQUIRE(receive_message(right.get(), received) == IoStatus::kOk);
      REQUIRE(received.fds.size() == count);
      CHECK((::fcntl(received.fds.back().get(), F_GETFD) & FD_CLOEXEC) != 0);
      std::string text;
      REQUIRE(text_from_memfd(received.fds.back().get(), 100, text));
      CHECK(text == "text");
    }
  }
  CHECK(count_fds() == before);
}

TEST_CASE("a message that is too large is dropped with its descriptors, and the next one comes") {
  const auto [left, right] = socket_pair();
  const size_t before = count_fds();
  std::vector<uint8_t> large(kMessageBytesMax + 1, 1);
  iovec part{large.data(), large.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = left.get();
  std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  REQUIRE(::sendmsg(left.get(), &header, 0) == static_cast<ssize_t>(large.size()));
  REQUIRE(send_message(left.get(), kHello) == IoStatus::kOk);
  Received received;
  CHECK(receive_message(right.get(), received) == IoStatus::kTooLarge);
  CHECK(received.bytes.empty());
  CHECK(received.fds.size() == 1);  // to close it may block, which is for the caller to avoid
  received.fds.clear();
  CHECK(count_fds() == before);
  CHECK(receive_message(right.get(), received) == IoStatus::kOk);
  CHECK(holds(received, kHello));
}

TEST_CASE("a message whose descriptors find no room in the process is dropped with those that came") {
  const auto [left, right] = socket_pair();
  REQUIRE(send_message(left.get(), kHello, std::vector<int>(3, left.get())) == IoStatus::kOk);
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
  const UniqueFd lowest(::dup(left.get()));
  REQUIRE(lowest);
  const rlimit low{static_cast<rlim_t>(lowest.get()) + 2, usual.rlim_max};  // room for one more
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  Received received;
  const IoStatus status = receive_message(right.get(), received);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &usual) == 0);
  CHECK(status == IoStatus::kTooLarge);
  CHECK(received.bytes.empty());
  CHECK(received.fds.size() < 3);
}

TEST_CASE("a full socket says so, and takes more once it is read") {
  const auto [left, right] = socket_pair();
  size_t sent = 0;
  IoStatus status = IoStatus::kOk;
  while (sent < 1'000'000 && (status = send_message(left.get(), kHello)) == IoStatus::kOk) ++sent;
  CHECK(status == IoStatus::kWouldBlock);
  CHECK(sent >= 253);  // as many releases as a ring has slots fit
  Received received;
  for (size_t i = 0; i < sent; ++i) REQUIRE(receive_message(right.get(), received) == IoStatus::kOk);
  CHECK(send_message(left.get(), kHello) == IoStatus::kOk);
}

TEST_CASE("the other side's end is seen on both ways, without a signal") {
  auto [left, right] = socket_pair();
  REQUIRE(send_message(right.get(), kHello) == IoStatus::kOk);
  SECTION("having read everything") {}
  SECTION("with a message of ours unread") { REQUIRE(send_message(left.get(), kHello) == IoStatus::kOk); }
  right.reset();
  Received received;
  CHECK(receive_message(left.get(), received) == IoStatus::kOk);  // what was sent before it
  CHECK(receive_message(left.get(), received) == IoStatus::kClosed);
  CHECK(send_message(left.get(), kHello) == IoStatus::kClosed);
}

TEST_CASE("listening: mode, stale sockets, sockets in use, wrong places") {
  const Folder folder;
  const std::string path = folder.path + "/s";
  CHECK_FALSE(connect_to(path));
  CHECK(errno == ENOENT);
  UniqueFd listener = listen_at(path, 0660);
  REQUIRE(listener);
  struct stat status = {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0660);
  CHECK(connect_to(path));
  CHECK_FALSE(listen_at(path, 0600));
  CHECK(errno == EADDRINUSE);
  listener.reset();
  CHECK_FALSE(connect_to(path));
  CHECK(errno == ECONNREFUSED);
  CHECK(listen_at(path, 0600));

  const std::string file = folder.path + "/file";
  REQUIRE(UniqueFd(::open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)));
  CHECK_FALSE(listen_at(file, 0600));
  CHECK(errno == EEXIST);
  CHECK(std::filesystem::exists(file));
  CHECK_FALSE(listen_at(folder.path + "/" + std::string(200, 'x'), 0600));
  CHECK(errno == ENAMETOOLONG);
}

TEST_CASE("listening for a stream: mode, stale sockets, sockets in use") {
  const Folder folder;
  const std::string path = folder.path + "/s";
  UniqueFd listener = listen_stream_at(path, 0600);
  REQUIRE(listener);
  int type = 0;
  socklen_t bytes = sizeof type;
  REQUIRE(::getsockopt(listener.get(), SOL_SOCKET, SO_TYPE, &type, &bytes) == 0);
  CHECK(type == SOCK_STREAM);
  struct stat status = {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK_FALSE(listen_stream_at(path, 0600));
  CHECK(errno == EADDRINUSE);
  CHECK_FALSE(listen_at(path, 0600));  // nor is a socket of another type replaced while somebody listens
  CHECK(errno == EADDRINUSE);
  listener.reset();
  CHECK(listen_stream_at(path, 0600));
}

TEST_CASE("who is at the other end") {
  const auto [left, right] = socket_pair();
  const PeerCredentials peer = peer_credentials(left.get());
  CHECK(peer.pid == ::getpid());
  CHECK(peer.uid == ::geteuid());
  CHECK(peer_credentials(-1).uid == 65534);
}

TEST_CASE("the groups of who is at the other end, however many") {
  const auto [left, right] = socket_pair();
  std::vector<gid_t> own(65536);
  own.resize(static_cast<size_t>(std::max(0, ::getgroups(static_cast<int>(own.size()), own.data()))));
  CHECK(peer_groups(left.get()) == own);
  CHECK(peer_groups(-1).empty());
  if (::geteuid() != 0) return;
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<gid_t> many(300);
    for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<gid_t>(1000 + i);
    if (::setgroups(many.size(), many.data()) != 0) ::_exit(2);
    const auto [one, other] = socket_pair();
    ::_exit(peer_groups(one.get()) == many ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a pidfd tells of its process's end, and nothing else is taken for one") {
  const auto [gate, child_gate] = socket_pair();
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    ::fcntl(child_gate.get(), F_SETFL, 0);
    if (::recv(child_gate.get(), &byte, 1, 0) < 0) ::_exit(1);
    ::_exit(0);
  }
  REQUIRE(child > 0);
  const UniqueFd pidfd = open_pidfd(child);
  REQUIRE(pidfd);
  CHECK(is_pidfd(pidfd.get()));
  CHECK_FALSE(process_has_ended(pidfd.get()));
  REQUIRE(send_message(gate.get(), kHello) == IoStatus::kOk);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(process_has_ended(pidfd.get()));
  CHECK_FALSE(is_pidfd(gate.get()));
  CHECK_FALSE(is_pidfd(-1));
  CHECK_FALSE(is_pidfd(text_to_memfd("x", "pidfd:[1]").get()));
  CHECK_FALSE(open_pidfd(-1));
}

TEST_CASE("texts in memfds are sealed, and taken only so") {
  const std::string text(300'000, 't');
  const UniqueFd memory = text_to_memfd(text, "test");
  REQUIRE(memory);
  CHECK(::pwrite(memory.get(), "x", 1, 0) < 0);
  CHECK(::ftruncate(memory.get(), 0) != 0);
  std::string read;
  REQUIRE(text_from_memfd(memory.get(), kTextBytesMax, read));
  CHECK(read == text);
  CHECK(text_from_memfd(memory.get(), text.size(), read));
  CHECK_FALSE(text_from_memfd(memory.get(), text.size() - 1, read));
  CHECK(errno == EFBIG);
  CHECK(read.empty());

  const UniqueFd open_memory(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::fcntl(open_memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
  CHECK_FALSE(text_from_memfd(open_memory.get(), 100, read));
  CHECK(errno == EPERM);
  const UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK_FALSE(text_from_memfd(file.get(), 100, read));
  CHECK_FALSE(text_to_memfd(std::string(kTextBytesMax + 1, 'x'), "test"));
  CHECK(errno == EFBIG);
}

}  // namespace spdld::seqpacket_test
