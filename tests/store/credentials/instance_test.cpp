#include "daemon/store/credentials/instance.h"

#include "tests/store/credentials/fixtures.h"
#include "tests/support/http_stub.h"

namespace spdld::store::credentials_test {
namespace {

using test::HttpStub;
using test::StubReply;
using test::StubRequest;

constexpr const char* kRoles = "/latest/meta-data/iam/security-credentials/";

// The service, with one of its three replies put in another's place.
struct Service {
  StubReply answer(const StubRequest& request) const {
    if (const auto found = other.find(request.target); found != other.end()) return found->second;
    if (request.target == "/latest/api/token")
      return request.method == "PUT" ? StubReply{200, "SeCrEtSession"} : StubReply{405};
    if (request.header("x-aws-ec2-metadata-token") != "SeCrEtSession") return StubReply{401};
    if (request.target == kRoles) return StubReply{200, "the-role\n"};
    return request.target == std::string(kRoles) + "the-role" ? StubReply{200, json_of()} : StubReply{404};
  }
  std::map<std::string, StubReply> other = {};
  HttpStub stub{[this](const StubRequest& request) { return answer(request); }};

  Result<Credentials> get(http::Ask ask = http::ask) const {
    return InstanceCredentials(environment_of({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", stub.url() + "/"}}),
                               std::move(ask))
        .get({});
  }
};

}  // namespace

TEST_CASE("an instance's role gives credentials by a session token") {
  Service service;
  CHECK(credentials_of(service.get()) == Credentials{kAccess, kSecret, kToken, kExpiresAtS});
  const auto requests = service.stub.requests();
  REQUIRE(requests.size() == 3);
  CHECK(requests[0].method == "PUT");
  CHECK(requests[0].header("x-aws-ec2-metadata-token-ttl-seconds") == "21600");
}

TEST_CASE("an instance without a role, and a machine without the service, have no credentials") {
  Service service;
  service.other[kRoles] = StubReply{404};
  CHECK(error_of(service.get()).trouble == Trouble::kNotFound);
  CHECK(error_of(service.get(nobody())).trouble == Trouble::kNotFound);
  const auto off = environment_of({{"AWS_EC2_METADATA_DISABLED", "TRUE"}});
  CHECK(error_of(InstanceCredentials(off, nobody()).get({})).message.find("AWS_EC2_METADATA_DISABLED") !=
        std::string::npos);
  CHECK(error_of(InstanceCredentials(environment_of({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", "x"}}), nobody()).get({}))
            .trouble == Trouble::kUsage);
  std::string url;
  InstanceCredentials source(environment_of({}), [&](const http::Question& question) -> Result<http::Reply> {
    url = question.url;
    return Error{Trouble::kStopping, "it stops."};
  });
  CHECK(error_of(source.get({})).trouble == Trouble::kStopping);
  CHECK(url == "http://169.254.169.254/latest/api/token");
}

TEST_CASE("the service may refuse, fail or send nonsense at each step") {
  StubReply cut{200, json_of()}, dropped;
  cut.cut_after = 20;
  dropped.is_dropped = true;
  struct Case {
    const char* target;
    StubReply reply;
    Trouble trouble;
  };
  const std::string role = std::string(kRoles) + "the-role";
  for (const Case& one :
       {Case{"/latest/api/token", {403}, Trouble::kDenied}, Case{"/latest/api/token", {500}, Trouble::kTransient},
        Case{"/latest/api/token", {200, "SeCrEt a"}, Trouble::kTransient},
        Case{"/latest/api/token", {200, ""}, Trouble::kTransient},
        Case{"/latest/api/token", dropped, Trouble::kNotFound}, Case{kRoles, {401}, Trouble::kDenied},
        Case{kRoles, {503}, Trouble::kTransient}, Case{kRoles, {200, "../../user-data"}, Trouble::kTransient},
        Case{kRoles, {200, "<html>SeCrEt"}, Trouble::kTransient},
        Case{kRoles, {200, std::string(65, 'r')}, Trouble::kTransient}, Case{kRoles, dropped, Trouble::kTransient},
        Case{role.c_str(), {404}, Trouble::kDenied},
        Case{role.c_str(), {200, "{\"Code\": \"Failed\"}"}, Trouble::kTransient},
        Case{role.c_str(), cut, Trouble::kTransient},
        Case{role.c_str(), {200, std::string(1 << 20, '{')}, Trouble::kLimit}}) {
    CAPTURE(one.target, one.reply.status, one.reply.body.substr(0, 50));
    Service service;
    service.other[one.target] = one.reply;
    CHECK(error_of(service.get()).trouble == one.trouble);
  }
}

}  // namespace spdld::store::credentials_test
