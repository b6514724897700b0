// Data sets that may only hold what lies in some folders, whatever their links say and whoever changes them meanwhile.
#include "daemon/source/files/bounds.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <thread>

#include "daemon/source/fetching/fetcher.h"
#include "daemon/source/lists/sample_list.h"
#include "proto/unique_fd.h"
#include "tests/source/fetching.h"
#include "tests/source/temp_folder.h"
#include "tests/support/makers/tar_writer.h"

namespace spdld::bounds_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;
using Folder = Bounds::Folder;
using Way = Bounds::Way;

namespace {

// The file's text, or errno's name.
std::string read(int opened) {
  if (opened < 0) return errno == kLeadsOut ? "leads out" : "errno " + std::to_string(errno);
  const UniqueFd fd(opened);
  std::string text(100, '\0');
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

std::string read(const Bounds& bounds, const std::string& path) { return read(bounds.open(path.c_str())); }

std::unique_ptr<Listing> open_within(const TempFolder& temp, const std::string& type, const std::string& name,
                                     bool follow_links = false, Way way = Bounds::usable_way()) {
  config::SourceSpec spec;
  spec.type = type;
  spec.uris = {temp / name};
  const std::vector<Folder> folders = {{temp / "open", follow_links}};
  return open_listing(spec, {}, {}, {}, nullptr, {std::make_shared<Bounds>(folders, Bounds::Rules{.way = way}), {}});
}

Error refusal_within(const TempFolder& temp, const std::string& type, const std::string& name) {
  try {
    open_within(temp, type, name);
  } catch (const SetupError& e) {
    return e.error();
  }
  return {};
}

// What a fetcher says of the first picture: its bytes or the reason.
std::string fetched(const Listing& listing, LocalFetcher& fetcher) {
  FetchRequest request = request_for(listing, 0, wanted(listing, {"image"}));
  fetch_now(fetcher, request);
  if (request.ok) return text(request.bytes[0]);
  CHECK(request.error.trouble == Trouble::kContent);
  return request.error.message;
}

// A sandbox in which openat2 fails with EPERM, as in containers whose rules are older than the call.
bool forbid_openat2() {
  std::array<sock_filter, 4> rules = {{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
                                       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog program{static_cast<unsigned short>(rules.size()), rules.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

// Names that lead to one another, in and out of the folder "open".
class Links {
 public:
  Links() {
    temp.file("open/file", "inside");
    temp.file("open/deep/er/file", "deep");
    temp.file("other/file", "other");
    temp.file("closed/file", "secret");
    temp.link("file", "open/near");
    temp.link("../../file", "open/deep/er/up");
    temp.link(temp / "open/deep", "open/absolute");
    temp.link("../closed/file", "open/out");
    temp.link(temp / "closed/file", "open/absolute-out");
    temp.link("../closed", "open/folder-out");
    temp.link("../other/file", "open/other");
    temp.link("../open/file", "closed/in");
    temp.link("loop", "open/loop");
    temp.link("nothing", "open/dangling");
    temp.link("open", "alias");
  }
  TempFolder temp;
};

}  // namespace

TEST_CASE("what is opened lies in the folders, wherever links lead") {
  const Links links;
  const TempFolder& temp = links.temp;
  for (const Way way : {Way::kOpenat2, Way::kSteps}) {
    CAPTURE(way == Way::kSteps);
    const Bounds bounds({{temp / "alias/"}, {temp / "other"}, {temp / "nowhere"}}, {.way = way});
    const auto at = [&](const std::string& name) { return read(bounds, temp / name); };
    CHECK(at("open/file") == "inside");
    CHECK(at("alias/file") == "inside");
    CHECK(at("open//deep/er/file") == "deep");
    CHECK(at("open/near") == "inside");
    CHECK(at("open/deep/er/up") == "inside");
    CHECK(at("open/absolute/er/file") == "deep");
    CHECK(at("open/deep/../file") == "inside");
    CHECK(at("closed/../open/file") == "inside");
    CHECK(at("closed/in") == "inside");
    CHECK(at("open/other") == "other");
    for (const char* name : {"open/out", "open/absolute-out", "open/folder-out/file", "open/../closed/file",
                             "closed/file", "open2/../closed/file", "alias/out"}) {
      CAPTURE(name);
      CHECK(read(bounds, temp / name) != "secret");
    }
    CHECK(at("open/out") == "leads out");
    CHECK(at("open/absolute-out") == "leads out");
    CHECK(at("open/folder-out/file") == "leads out");
    CHECK(at("open/../closed/file") == "leads out");
    CHECK(at("closed/file") == "leads out");
    CHECK(at("open/none") == "errno " + std::to_string(ENOENT));
    CHECK(at("open/dangling") == "errno " + std::to_string(ENOENT));
    CHECK(at("open/file/below") == "errno " + std::to_string(ENOTDIR));
    CHECK(at("open/loop").starts_with(way == Way::kSteps ? "leads out" : "errno"));
    CHECK(at("open/deep//er///file") == "deep");
    for (const char* folder : {"open", "open/", "open/deep/", "open/absolute/"}) {
      CHECK(UniqueFd(bounds.open((temp / folder).c_str(), O_DIRECTORY)));
    }
    CHECK_FALSE(UniqueFd(bounds.open((temp / "open/file/").c_str())));
    CHECK_NOTHROW(bounds.check(temp / "open/none"));
    CHECK_NOTHROW(bounds.check(temp / "open/absolute"));
    CHECK_THROWS_WITH(
        bounds.check(temp / "open/out"),
        Contains("open/out leads out of the folders that the pipeline") && Contains("follow_links = true"));
    struct stat status;
    CHECK((bounds.stat((temp / "open/near").c_str(), status) == 0 && status.st_size == 6));
    CHECK(bounds.stat((temp / "open/out").c_str(), status) == -1);
    CHECK(read(Bounds({}, {.way = way}), temp / "open/file") == "leads out");
    CHECK(read(Bounds({{"/"}}, {.way = way}), temp / "closed/file") == "secret");
  }
}

TEST_CASE("magic links lead nowhere, and neither pipes nor devices are waited for") {
  const TempFolder temp;
  temp.file("open/file", "inside");
  temp.file("closed/file", "secret");
  const UniqueFd held(::open((temp / "closed/file").c_str(), O_RDONLY | O_CLOEXEC));
  temp.link("/proc/self/fd/" + std::to_string(held.get()), "open/fd");
  temp.link("/proc/self/root" + temp / "closed/file", "open/root");
  temp.link("/proc/self/cwd", "open/cwd");
  temp.link("/dev/null", "open/null");
  REQUIRE(::mkfifo((temp / "open/pipe").c_str(), 0600) == 0);
  for (const Way way : {Way::kOpenat2, Way::kSteps}) {
    const Bounds bounds({{temp / "open"}}, {.way = way});
    for (const char* name : {"fd", "root", "cwd", "null"}) CHECK(read(bounds, temp / "open/" + name) == "leads out");
    CHECK(read(bounds, temp / "open/pipe") == "");  // at once: nobody writes to it
  }
  // Where links are followed, a magic link is refused all the same.
  const Bounds follows({{temp / "open", true}}, {.way = Way::kOpenat2});
  CHECK(read(follows, temp / "open/fd") == "errno " + std::to_string(ELOOP));
  CHECK(read(follows, temp / "open/root") == "errno " + std::to_string(ELOOP));
}

TEST_CASE("links may leave a folder where the operator says so") {
  const Links links;
  const TempFolder& temp = links.temp;
  temp.file("strict/file", "strict");
  temp.link("../closed/file", "strict/out");
  for (const Way way : {Way::kOpenat2, Way::kSteps}) {
    const Bounds bounds({{temp / "open", true}, {temp / "strict"}}, {.way = way});
    CHECK(read(bounds, temp / "open/out") == "secret");
    CHECK(read(bounds, temp / "open/absolute-out") == "secret");
    CHECK(read(bounds, temp / "open/folder-out/file") == "secret");
    CHECK(read(bounds, temp / "open/near") == "inside");
    CHECK(read(bounds, temp / "open/../closed/file") == "leads out");
    CHECK(read(bounds, temp / "strict/out") == "leads out");
    CHECK(read(bounds, temp / "closed/file") == "leads out");
  }
}

TEST_CASE("a folder of lists holds no data") {
  const TempFolder temp;
  temp.file("lists/a", "0");
  temp.file("open/b", "1");
  const Bounds bounds({{temp / "open"}, {.path = temp / "lists", .lists_only = true}});
  CHECK(read(bounds.open_list((temp / "lists/a").c_str())) == "0");
  CHECK(read(bounds.open_list((temp / "open/b").c_str())) == "1");
  CHECK(read(bounds, temp / "lists/a") == "leads out");
}

TEST_CASE("a folder that comes later or is replaced is found") {
  const TempFolder temp;
  const Bounds bounds({{temp / "open"}});
  CHECK(read(bounds, temp / "open/file") == "errno " + std::to_string(ENOENT));
  temp.file("open/file", "first");
  CHECK(read(bounds, temp / "open/file") == "first");
  std::filesystem::rename(temp / "open", temp / "away");
  std::filesystem::remove(temp / "away/file");
  temp.file("open/file", "second");
  CHECK(read(bounds, temp / "open/file") == "second");
}

TEST_CASE("where a sandbox has no openat2, paths are followed step by step") {
  const Links links;
  CHECK(Bounds::usable_way() == Way::kOpenat2);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // Found out anew: the first answer is kept for the process's life.
    const bool is_forbidden =
        forbid_openat2() && ::syscall(SYS_openat2, AT_FDCWD, "/", nullptr, 0) == -1 && errno == EPERM;
    if (!is_forbidden) ::_exit(3);
    const Bounds bounds({{links.temp / "open"}}, {.way = Bounds::find_way()});
    const bool is_right = read(bounds, links.temp / "open/absolute/er/file") == "deep" &&
                          read(bounds, links.temp / "open/out") == "leads out" &&
                          bounds.open_at_hand((links.temp / "open/file").c_str()) == -1;
    ::_exit(is_right && Bounds::find_way() == Way::kSteps ? 0 : 1);
  }
  int state = 0;
  REQUIRE(::waitpid(child, &state, 0) == child);
  CHECK(WIFEXITED(state));
  CHECK(WEXITSTATUS(state) == 0);
}

TEST_CASE("a folder that is swapped for a link while it is read gives no byte from outside") {
  for (const Way way : {Way::kOpenat2, Way::kSteps}) {
    const TempFolder temp;
    temp.file("open/set/a/1.jpg", "inside");
    temp.file("closed/a/1.jpg", "secret");
    const auto listing = open_within(temp, "image-folder", "open/set", false, way);
    temp.link(temp / "closed/a", "open/link");
    const std::string one = temp / "open/set/a", other = temp / "open/link";
    std::atomic<bool> is_done = false;
    std::atomic<uint64_t> swaps = 0;
    std::jthread swapper([&] {
      while (!is_done)
        if (::syscall(SYS_renameat2, AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0) ++swaps;
    });
    LocalFetcher fetcher(1);
    unsigned inside = 0, outside = 0;
    // Both kinds are met, on any machine, before the count of tries ends it.
    for (unsigned tries = 0; tries < 1'000'000 && (tries < 300 || inside == 0 || outside == 0); ++tries) {
      FetchRequest request = request_for(*listing, 0, wanted(*listing, {"image"}));
      fetch_now(fetcher, request);
      if (request.ok && text(request.bytes[0]) != "inside") FAIL(text(request.bytes[0]));
      ++(request.ok ? inside : outside);
      if (!request.ok) REQUIRE(request.error.trouble == Trouble::kContent);
    }
    is_done = true;
    CHECK(inside > 0);
    CHECK(outside > 0);
  }
}

TEST_CASE("a link out of bounds refuses its data set, one that stays inside does not") {
  const TempFolder temp;
  temp.file("open/good/a/1.jpg");
  temp.link("1.jpg", "open/good/a/2.jpg");
  temp.link("a", "open/good/b");
  temp.link(temp / "open/good/a", "open/good/c");
  temp.file("closed/readme");
  temp.link("../../closed/readme", "open/good/readme");  // no picture: nobody reads it
  CHECK(open_within(temp, "image-folder", "open/good")->size() == 6);

  temp.file("closed/c/1.jpg");
  temp.file("open/picture/a/1.jpg");
  temp.link(temp / "closed/c/1.jpg", "open/picture/a/2.jpg");
  temp.file("open/class/a/1.jpg");
  temp.link(temp / "closed/c", "open/class/b");
  temp.file("open/deep/a/1.jpg");
  temp.link(temp / "closed", "open/deep/a/closed");
  temp.folder("open/tars");
  TarWriter().file("1.jpg", "x").end().save(temp / "closed/x.tar");
  temp.link(temp / "closed/x.tar", "open/tars/x.tar");
  for (const auto& [type, name, where] : {std::tuple("image-folder", "open/picture", "open/picture/a/2.jpg"),
                                          std::tuple("image-folder", "open/class", "open/class/b"),
                                          std::tuple("image-folder", "open/deep", "open/deep/a/closed"),
                                          std::tuple("webdataset", "open/tars", "open/tars/x.tar"),
                                          std::tuple("webdataset", "open/tars/x.tar", "open/tars/x.tar")}) {
    const Error error = refusal_within(temp, type, name);
    CHECK(error.trouble == Trouble::kDenied);
    CHECK_THAT(error.message, Contains(std::string(where) + " leads out of the folders") && Contains("follow_links"));
    CHECK(open_within(temp, type, name, true)->size() > 0);
  }
}

TEST_CASE("a picture or a list that leads out of bounds after the listing is not read") {
  const TempFolder temp;
  temp.file("open/set/a/1.jpg", "seen");
  temp.file("closed/1.jpg", "secret");
  temp.file("closed/list", "0\n");
  temp.file("open/list", "0\n");
  const auto listing = open_within(temp, "image-folder", "open/set");
  LocalFetcher fetcher(1);
  FetchRequest request = request_for(*listing, 0, wanted(*listing, {"image"}));
  fetch_now(fetcher, request);
  REQUIRE(request.ok);
  CHECK(text(request.bytes[0]) == "seen");
  CHECK(fetcher.fetch_at_hand(request));
  std::filesystem::remove(temp / "open/set/a/1.jpg");
  temp.link(temp / "closed/1.jpg", "open/set/a/1.jpg");
  fetch_now(fetcher, request);
  CHECK_FALSE(request.ok);
  CHECK(request.error.trouble == Trouble::kContent);
  CHECK_THAT(request.error.message, Contains("leads out of the folders"));
  // Nor is a copy that somebody keeps of what the link leads to.
  const auto unbound = open("image-folder", temp / "open/set");
  FetchRequest other = request_for(*unbound, 0, wanted(*unbound, {"image"}));
  fetch_now(fetcher, other);
  REQUIRE(text(other.bytes[0]) == "secret");
  request.fields[0].want = FieldFetch::Want::kChanged;
  request.fields[0].identity = other.fields[0].identity;
  fetch_now(fetcher, request);
  CHECK_FALSE(request.ok);
  CHECK_FALSE(fetcher.fetch_at_hand(request));

  Stamps stamps;
  CHECK(read_sample_list(temp / "open/list", "order.include", *listing, stamps, {}) == std::vector<uint64_t>{0});
  temp.link(temp / "closed/list", "open/linked");
  CHECK_THROWS_WITH(read_sample_list(temp / "open/linked", "order.include", *listing, stamps, {}),
                    Contains("open/linked leads out of the folders"));
}

TEST_CASE("pipes, devices and sockets among the pictures are bad pictures") {
  const TempFolder temp;
  temp.folder("open/set/a");
  const std::string path = temp / "open/set/a/1.jpg";
  LocalFetcher fetcher(1);
  const auto outcome = [&] {
    const std::string said = fetched(*open_within(temp, "image-folder", "open/set"), fetcher);
    CHECK(fetched(*open("image-folder", temp / "open/set"), fetcher) == said);
    std::filesystem::remove(path);
    return said;
  };
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK_THAT(outcome(), Contains("a/1.jpg is not a regular file"));
  if (::mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0) {  // /dev/null
    const std::string said = outcome();
    // A mount without devices denies even the opening.
    CHECK_THAT(said, Contains("is not a regular file") || Contains("can't be opened: Permission denied"));
  }
  const UniqueFd bound(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
  REQUIRE(path.size() < sizeof name.sun_path);
  path.copy(name.sun_path, path.size());
  REQUIRE(::bind(bound.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0);
  CHECK_THAT(outcome(), Contains("a/1.jpg can't be opened: No such device or address"));
}

TEST_CASE("a pipe in the place of an archive is no archive") {
  const TempFolder temp;
  temp.folder("open");
  REQUIRE(::mkfifo((temp / "open/x.tar").c_str(), 0600) == 0);
  CHECK_THAT(refusal_within(temp, "webdataset", "open/x.tar").message, Contains("x.tar is not a file"));
  CHECK_THAT(refusal_within(temp, "webdataset", "open").message, Contains("x.tar is not a file"));
}

}  // namespace spdld::bounds_test
