#include "daemon/node/access/access.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace spdld::access_test {

using namespace spdld;
using namespace spdld::node;

namespace {

control::Client client_of(uid_t uid, gid_t gid, std::vector<gid_t> groups = {}) {
  control::Client client;
  client.uid = uid, client.gid = gid, client.groups = std::move(groups);
  return client;
}

}  // namespace

TEST_CASE("a path lies where its links lead") {
  const test::TempDir temp;
  const auto inside = temp.path() / "inside", outside = temp.path() / "outside", beside = temp.path() / "inside2";
  for (const auto& folder : {inside, outside, beside}) std::filesystem::create_directory(folder);
  std::ofstream(outside / "list") << "x";
  std::filesystem::create_symlink(outside / "list", inside / "link");
  CHECK(lies_in(inside, inside / "list"));  // it need not be there
  CHECK(lies_in(inside, inside / "a" / "b"));
  CHECK_FALSE(lies_in(inside, inside / ".." / "outside" / "list"));
  CHECK_FALSE(lies_in(inside, inside / "link"));
  CHECK_FALSE(lies_in(inside, beside / "list"));
  CHECK(lies_in(outside, inside / "link"));
}

TEST_CASE("roots are open to those whom they name") {
  const test::TempDir temp;
  config::DaemonSettings settings;
  const std::string a = temp.path() / "a", b = temp.path() / "b", c = temp.path() / "c";
  settings.data_roots = {{a, {}}, {b, {{"4321"}, {}}}, {c, {{}, {"77"}}, true}};
  const auto stranger = client_of(4322, 4322), user = client_of(4321, 4321);
  const auto by_gid = client_of(4322, 77), by_group = client_of(4322, 4322, {1, 77});
  CHECK(data_roots(settings) == Folders{{a}, {b}, {c, true}});
  CHECK(open_roots(settings, stranger).empty());
  CHECK(open_roots(settings, user) == Folders{{b}});
  CHECK(open_roots(settings, by_gid) == Folders{{c, true}});
  CHECK(open_roots(settings, by_group) == Folders{{c, true}});
  CHECK(lies_in_any({{a}, {b}}, b + "/list"));
  CHECK_FALSE(lies_in_any({{a}, {b}}, c));
  CHECK_FALSE(lies_in_any({}, "/anywhere"));
  // A link that leads out of a root counts where links are followed.
  std::filesystem::create_directories(b);
  std::filesystem::create_directories(c);
  std::filesystem::create_symlink(c, b + "/link");
  CHECK_FALSE(lies_in_any({{b}}, b + "/link/x"));
  for (const std::string& root : {b, b + "/", b + "/./"}) CHECK(lies_in_any({{root, true}}, b + "/link/x"));
  CHECK(lies_in_any({{"/", true}}, b + "/link/x"));
  CHECK_FALSE(lies_in_any({{b, true}}, b + "/../c"));
  CHECK_FALSE(lies_in_any({{b, true}}, b + "2"));
}

TEST_CASE("who is among those that are allowed") {
  const auto user = client_of(4321, 4321, {88}), nobody = client_of(65534, 65534), root = client_of(0, 0);
  CHECK(is_among({{"4321"}, {}}, user));
  CHECK(is_among({{"somebody", "*"}, {}}, user));
  CHECK(is_among({{}, {"no such group", "88"}}, user));
  CHECK(is_among({{"root"}, {}}, root));
  CHECK(is_among({{}, {"root"}}, root));  // the database's name of gid 0
  CHECK_FALSE(is_among({}, user));
  CHECK_FALSE(is_among({{"432", "43210", "root"}, {"8", "888", "root"}}, user));
  // Who is known to another user namespace alone is only one of everybody.
  CHECK(is_among({{"*"}, {}}, nobody));
  CHECK_FALSE(is_among({{"65534", "nobody"}, {"65534", "nogroup"}}, nobody));
  CHECK_FALSE(is_among({{}, {"65534", "nogroup"}}, client_of(4321, 65534, {65534})));
}

TEST_CASE("an asker is a client with its rights, or the owner, for whom no client stands") {
  config::DaemonSettings settings;
  settings.access = {{"train", {{"4321"}, {}}}};
  auto client = client_of(4321, 4321);
  client.session = 7;
  const Asker user(client), owner = Asker::owner();
  CHECK_FALSE(user.is_owner());
  CHECK(user.has_uid(4321));
  CHECK(user.is_user(4321));
  CHECK_FALSE(user.is_user(4322));
  CHECK(user.has_session(7));
  CHECK(user.may_use(settings, "train"));
  CHECK_FALSE(user.may_use(settings, "other"));
  CHECK(owner.is_owner());
  CHECK(owner.may_use(settings, "other"));
  CHECK_FALSE(owner.has_uid(0));
  CHECK_FALSE(owner.has_session(0));
  const auto overflow = client_of(65534, 65534);
  CHECK(Asker(overflow).has_uid(65534));
  CHECK_FALSE(Asker(overflow).is_user(65534));
}

TEST_CASE("a pipeline's own table goes before the table of all others") {
  config::DaemonSettings settings;
  const auto user = client_of(4321, 4321), other = client_of(4322, 4322), root = client_of(0, 0);
  CHECK_FALSE(may_use(settings, "p", user));
  settings.access = {{"*", {{"*"}, {}}}, {"p", {{"4321"}, {}}}, {"nobody's", {}}};
  CHECK(may_use(settings, "p", user));
  CHECK_FALSE(may_use(settings, "p", other));
  CHECK(may_use(settings, "q", other));
  CHECK_FALSE(may_use(settings, "nobody's", user));
  CHECK(may_use(settings, "nobody's", root));
  settings.access.erase("*");
  CHECK(may_use(settings, "p", user));
  CHECK_FALSE(may_use(settings, "q", user));
}

}  // namespace spdld::access_test
