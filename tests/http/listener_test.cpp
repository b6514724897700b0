// Listening sockets of this machine alone.
#include "daemon/http/listener.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "daemon/base/result.h"
#include "proto/seqpacket.h"
#include "tests/support/temp_dir.h"

namespace spdld::http::listener_test {
namespace {

config::HttpAddress address(const std::string& text) { return *config::parse_http_address(text).address; }

}  // namespace

TEST_CASE("a socket listens where it is told to, and says where", "[http]") {
  const UniqueFd tcp = listen_at(address("127.0.0.1:0"), 0);
  const auto found = address_of(tcp.get());
  REQUIRE(found);
  CHECK(found->host == "127.0.0.1");
  CHECK(found->port != 0);
  CHECK_THROWS_WITH(listen_at(*found, 0), Catch::Contains(found->text()) && Catch::Contains("another program listens"));

  const test::TempDir folder;
  const std::string path = (folder.path() / "http.sock").string();
  UniqueFd unix_socket = listen_at(address("unix:" + path), 0640);
  CHECK(address_of(unix_socket.get()) == address("unix:" + path));
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
  CHECK_THROWS_AS(listen_at(address("unix:" + path), 0640), SetupError);
  unix_socket.reset();
  CHECK(listen_at(address("unix:" + path), 0640));  // the file of a daemon that is gone
}

TEST_CASE("sockets that are no listeners of this machine alone are told apart", "[http]") {
  const UniqueFd any(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  CHECK_FALSE(address_of(any.get()));  // it listens nowhere yet
  REQUIRE(::listen(any.get(), 1) == 0);
  CHECK_FALSE(address_of(any.get()));  // at 0.0.0.0
  const UniqueFd datagrams(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  CHECK_FALSE(address_of(datagrams.get()));
  const test::TempDir folder;
  const UniqueFd packets = proto::listen_at((folder.path() / "s").string(), 0600);
  CHECK_FALSE(address_of(packets.get()));
  CHECK_FALSE(address_of(-1));
}

}  // namespace spdld::http::listener_test
