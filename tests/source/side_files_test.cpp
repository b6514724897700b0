#include "daemon/source/files/side_files.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <vector>

#include "tests/source/temp_folder.h"

namespace spdld::side_files_test {
namespace {

using namespace spdld::source;
using Catch::Contains;
using test::TempFolder;
using Names = std::vector<std::string>;

struct Read {
  Names paths, contents;
  std::string digits;
};

Read read_all(const std::string& path, std::shared_ptr<const Bounds> bounds = {}) {
  BoundedSideFiles files(std::move(bounds));
  Read read;
  CHECK(!files.is_used());
  files.read(path, "wav, flac", [&](const std::string& name, std::span<const uint8_t> bytes) {
    read.paths.push_back(name);
    read.contents.emplace_back(bytes.begin(), bytes.end());
  });
  CHECK(files.is_used());
  read.digits = files.digits();
  return read;
}

Error refusal(const std::string& path, std::shared_ptr<const Bounds> bounds = {}) {
  try {
    read_all(path, std::move(bounds));
  } catch (const SetupError& error) {
    return error.error();
  }
  return {Trouble::kInternal, "it was not refused"};
}

std::shared_ptr<const Bounds> within(const std::string& folder) {
  return std::make_shared<const Bounds>(std::vector<Bounds::Folder>{{.path = folder}});
}

TEST_CASE("side files are read in the order of their paths, links followed, and hidden ones left out") {
  TempFolder temp;
  for (const char* name :
       {"n/b.wav", "n/a/z.FLAC", "n/a.wav", "n/a-.wav", "n/.hidden.wav", "n/.folder/x.wav", "n/note.txt"})
    temp.file(name, std::string("content of ") + name);
  temp.file("other/x.wav", "linked");
  temp.link(temp / "other", "n/link");
  temp.link(temp / "other/x.wav", "n/one.wav");
  temp.link(temp / "n/note.txt", "n/text");
  const Read read = read_all(temp / "n");
  CHECK(read.paths == Names{temp / "n/a-.wav", temp / "n/a.wav", temp / "n/a/z.FLAC", temp / "n/b.wav",
                            temp / "n/link/x.wav", temp / "n/one.wav"});
  CHECK(read.contents.front() == "content of n/a-.wav");
  CHECK(read.contents.back() == "linked");
  CHECK(read_all(temp / "n/").contents == read.contents);
  CHECK(read_all(temp / "n/note.txt").contents == Names{"content of n/note.txt"});  // whose name nobody asks for
}

TEST_CASE("the digits of side files are of their names and bytes, and of no place") {
  TempFolder temp;
  for (const char* folder : {"one", "same", "renamed", "changed", "joined"}) {
    temp.file(std::string(folder) + "/a.wav", "12");
    temp.file(std::string(folder) + (std::string_view(folder) == "renamed" ? "/c.wav" : "/b.wav"), "34");
  }
  temp.file("changed/b.wav", "35");
  temp.file("joined/a.wav", "123"), temp.file("joined/b.wav", "4");
  const std::string digits = read_all(temp / "one").digits;
  CHECK(digits.size() == 32);
  CHECK(read_all(temp / "same").digits == digits);
  for (const char* folder : {"renamed", "changed", "joined"}) CHECK(read_all(temp / folder).digits != digits);
}

TEST_CASE("a side file that is written anew, comes or goes is seen by its stamps") {
  TempFolder temp;
  temp.file("n/a.wav", "12");
  const auto stamps = [&](BoundedSideFiles& files) {
    files.read(temp / "n", "wav", [](const std::string&, std::span<const uint8_t>) {});
    CHECK(files.stamps().unchanged());
  };
  BoundedSideFiles before({}), after({});
  stamps(before);
  temp.file("n/b.wav", "3");
  CHECK(!before.stamps().unchanged());
  stamps(after);
  temp.file("n/a.wav", "456");
  CHECK(!after.stamps().unchanged());
}

TEST_CASE("side files that can't be read are refused with their paths") {
  TempFolder temp;
  CHECK(refusal(temp / "none").trouble == Trouble::kNotFound);
  CHECK_THAT(refusal(temp / "none").message, Contains(temp / "none"));
  temp.folder("n");
  temp.link(temp / "nowhere", "n/broken.wav");
  CHECK_THAT(refusal(temp / "n").message, Contains("broken.wav"));
  ::mkfifo((temp / "pipe").c_str(), 0600);
  CHECK_THAT(refusal(temp / "pipe").message, Contains("neither a file nor a folder"));
  temp.folder("round");
  temp.link(temp / "round", "round/again");
  CHECK_THAT(refusal(temp / "round").message, Contains("a link may go round"));
  std::filesystem::resize_file((temp.file("large.wav"), temp / "large.wav"), kSideFileBytesMax + 1);
  CHECK(refusal(temp / "large.wav").trouble == Trouble::kLimit);
}

TEST_CASE("side files lie within the bounds of the data set") {
  TempFolder temp;
  temp.file("open/a.wav", "12");
  temp.file("closed/b.wav", "34");
  const auto bounds = within(temp / "open");
  CHECK(read_all(temp / "open", bounds).contents == Names{"12"});
  CHECK(refusal(temp / "closed", bounds).trouble == Trouble::kDenied);
  CHECK(refusal(temp / "closed/b.wav", bounds).trouble == Trouble::kDenied);
  temp.link(temp / "closed", "open/link");
  const Error linked = refusal(temp / "open", bounds);
  CHECK(linked.trouble == Trouble::kDenied);
  CHECK_THAT(linked.message, Contains("leads out of the folders") && Contains("open/link"));
}

TEST_CASE("a stop ends the reading of side files") {
  TempFolder temp;
  temp.file("n/a.wav", "12");
  std::stop_source source;
  source.request_stop();
  BoundedSideFiles files({}, source.get_token());
  const auto read = [&] { files.read(temp / "n", "wav", [](const std::string&, std::span<const uint8_t>) {}); };
  CHECK_THROWS_AS(read(), SetupError);
}

}  // namespace
}  // namespace spdld::side_files_test
