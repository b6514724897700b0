#include "daemon/store/http/ca_file.h"

#include <catch2/catch.hpp>
#include <map>

namespace spdld::store::ca_file_test {

TEST_CASE("the file of certificates is named by a variable; without one, it is the first usual file that exists") {
  std::map<std::string, const char*> set;
  const http::Variable variable = [&](const char* name) { return set[name]; };
  const std::vector<std::string> usual = {"/none/a.pem", "/proc/self/status", "/proc/self/stat"};
  CHECK(http::find_ca_file(variable, usual) == "/proc/self/status");
  CHECK(http::find_ca_file(variable, {"/none/a.pem"}).empty());
  set["SSL_CERT_FILE"] = "";
  set["CURL_CA_BUNDLE"] = "/b.pem";
  CHECK(http::find_ca_file(variable, usual) == "/b.pem");
  set["SSL_CERT_FILE"] = "/a.pem";  // a file that is not there is an error to tell, and is not passed over
  CHECK(http::find_ca_file(variable, usual) == "/a.pem");
}

}  // namespace spdld::store::ca_file_test
