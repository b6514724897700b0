// What the kernel and servers say, read: sound texts and odd ones. And work that hangs is ended.
#include "client/cli/doctor/reading.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <stdexcept>

#include "client/cli/doctor/apart.h"
#include "client/cli/doctor/facts.h"
#include "client/cli/doctor/looks.h"
#include "tests/support/temp_dir.h"

namespace spdld::cli::doctor::reading_test {

TEST_CASE("the choice of a file in /sys") {
  CHECK(chosen_in("always within_size [advise] never deny force\n") == "advise");
  CHECK(chosen_in("[never]") == "never");
  for (const char* odd : {"", "advise", "[] x", "[advise"}) CHECK(chosen_in(odd).empty());
}

TEST_CASE("limits of a process") {
  constexpr const char* kText =
      "Limit                     Soft Limit           Hard Limit           Units     \n"
      "Max locked memory         8388608              unlimited            bytes     \n"
      "Max open files            1024                 524288               files     \n";
  CHECK(limit_in(kText, "Max open files", true) == 524'288);
  CHECK(limit_in(kText, "Max open files", false) == 1024);
  CHECK(limit_in(kText, "Max locked memory", true) == kUnlimited);
  CHECK_FALSE(limit_in(kText, "Max open", true));
  CHECK_FALSE(limit_in("Max open files x -1\n", "Max open files", true));
  CHECK_FALSE(limit_in("", "Max open files", true));
}

TEST_CASE("control groups") {
  CHECK(number_in("nr_periods 12\nnr_throttled 3\n", "nr_throttled") == 3);
  CHECK_FALSE(number_in("nr_throttled_x 3\n", "nr_throttled"));
  CHECK_FALSE(number_in("nr_throttled", "nr_throttled"));
  CHECK(memory_max_in("max\n") == kUnlimited);
  CHECK(memory_max_in("1073741824\n") == 1 << 30);
  CHECK_FALSE(memory_max_in("").has_value());
  CHECK(cpu_quota_in("150000 100000\n") == 1.5);
  for (const char* none : {"max 100000", "", "100000", "1 0", "-1 5"}) CHECK(cpu_quota_in(none) == 0);
  CHECK(group_in("1:cpu:/x\n0::/system.slice/spdld.service\n") == "/system.slice/spdld.service");
  CHECK(group_in("0::/../../x\n") == "/");
  CHECK(group_in("") == "/");
}

TEST_CASE("the Date of a response") {
  CHECK(date_in("HTTP/1.1 403 Forbidden\r\nServer: x\r\nDATE:  Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n") == 784'111'777);
  CHECK(date_in("HTTP/1.0 200 OK\nDate: Thu, 01 Jan 1970 00:00:00 GMT\n") == 0);
  for (const char* odd : {"", "SSH-2.0\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
                          "HTTP/1.1 200\r\n\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT",
                          "HTTP/1.1 200\r\nDate: Sun, 31 Feb 1994 08:49:37 GMT\r\n",
                          "HTTP/1.1 200\r\nDate: Sun, 06 Nov 1994 24:49:37 GMT\r\n",
                          "HTTP/1.1 200\r\nDate: Sun, 06 Nov 1994 08:49:37 CET\r\n",
                          "HTTP/1.1 200\r\nDate: Sun, 06 Nov 99999 08:49:37 GMT\r\n",
                          "HTTP/1.1 200\r\nDate: yesterday\r\n", "HTTP/1.1 200\r\nDate:"})
    CHECK_FALSE(date_in(odd));
}

TEST_CASE("the server of an address") {
  CHECK(server_of("https://data.example.org/a/b")->text() == "data.example.org:443");
  CHECK(server_of("http://data.example.org")->text() == "data.example.org:80");
  CHECK(server_of("http://data.example.org:8080/")->is_plain_http);
  CHECK(server_of("http://[::1]:9000")->text() == "[::1]:9000");
  CHECK(server_of("https://[::1]")->host == "::1");
  for (const char* odd :
       {"", "ftp://x", "https://", "https://:80", "https://x:port", "https://x:99999", "http://[::1", "http://x:"})
    CHECK_FALSE(server_of(odd));
}

TEST_CASE("the server of a store") {
  config::StoreSettings store;
  const auto server = [&](const StoreEnvironment& environment = {}) { return server_of(store, environment)->text(); };
  store.uri = "https://data.example.org/sets";
  CHECK(server({"http://other", "eu-west-1"}) == "data.example.org:443");
  store.uri = "s3://bucket/folder";
  CHECK(server() == "s3.us-east-1.amazonaws.com:443");
  CHECK(server({"", "cn-north-1"}) == "s3.cn-north-1.amazonaws.com.cn:443");
  CHECK(server({"http://minio:9000", ""}) == "minio:9000");
  store.region = "eu-west-1";
  CHECK(server({"", "cn-north-1"}) == "s3.eu-west-1.amazonaws.com:443");
  store.endpoint = "http://127.0.0.1:9000";
  CHECK(server({"http://minio:9000", ""}) == "127.0.0.1:9000");
  store.proxy = "http://proxy:3128";
  CHECK(server() == "proxy:3128");
  CHECK(server_of(store, {})->is_proxy);
  CHECK_FALSE(server_of(store, {})->is_plain_http);  // a proxy's clock is nobody's business
}

TEST_CASE("work apart: answers come in order, and what hangs or dies has none") {
  const auto begin = std::chrono::steady_clock::now();
  const auto answers =
      do_apart({[] { return std::string("a"); }, [] { return pause(), std::string("b"); },
                []() -> std::string { throw std::runtime_error("c"); }, [] { return _exit(3), std::string(); },
                [] { return std::string(1 << 20, 'e'); }, [] { return std::string(); }},
               0.3);
  REQUIRE(answers.size() == 6);
  CHECK(answers[0] == "a");
  CHECK_FALSE(answers[1]);
  CHECK_FALSE(answers[2]);
  CHECK_FALSE(answers[3]);
  REQUIRE(answers[4]);
  CHECK(answers[4]->size() == kAnswerBytesMax);
  CHECK(answers[5] == "");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

TEST_CASE("folders are looked at as the user who reads them") {
  const test::TempDir folder;
  folder.write("file", "x");
  const std::vector<std::filesystem::path> paths = {folder.path(), folder.path() / "file", folder.path() / "none"};
  const auto own = look_at_folders(paths, {});
  REQUIRE(own.size() == 3);
  CHECK((own[0].answered && own[0].exists && own[0].is_folder && own[0].may_read && own[0].may_write));
  CHECK(own[0].path == folder.path());
  CHECK(own[0].mode == 0700);
  CHECK(own[0].owner == geteuid());
  CHECK(own[0].free_bytes > 0);
  CHECK((own[1].exists && !own[1].is_folder));
  CHECK((own[2].answered && !own[2].exists));
  if (geteuid() != 0) return;  // only root may look as somebody else
  const auto others = look_at_folders(paths, {"nobody", false, 65534, 65534});
  CHECK((others[0].exists && !others[0].may_read && !others[0].may_write));
  CHECK((others[1].answered && !others[1].exists));  // behind a folder that is closed to that user
}

TEST_CASE("work apart: all of much work is done") {
  std::vector<Work> works;
  for (size_t i = 0; i < 3 * kAtOnceMax + 1; i++) works.push_back([i] { return std::to_string(i); });
  const auto answers = do_apart(works, 30);
  REQUIRE(answers.size() == works.size());
  for (size_t i = 0; i < works.size(); i++) CHECK(answers[i] == std::to_string(i));
}

}  // namespace spdld::cli::doctor::reading_test
