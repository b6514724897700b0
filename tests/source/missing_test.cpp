// A data set that is not whole is refused, with what is missing and how to go on, unless on_missing says "warn".
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "tests/source/temp_folder.h"
#include "tests/support/makers/tar_writer.h"

namespace spdld::missing_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

namespace {

constexpr const char* kHow = "on_missing = \"warn\"";

// Root may read everything.
class AsNobody {
 public:
  AsNobody() { REQUIRE((was_root_ ? ::seteuid(65534) : 0) == 0); }
  ~AsNobody() {
    if (was_root_) (void)!::seteuid(0);
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  const bool was_root_ = ::geteuid() == 0;
};

std::string whole_archive() {
  TarWriter tar;
  for (const char* key : {"1", "2", "3", "4"})
    tar.file(std::string(key) + ".jpg", std::string(2000, 'p')).file(std::string(key) + ".cls", "7");
  return tar.end().bytes();
}

}  // namespace

TEST_CASE("a class folder that can't be read is missing, and so is a folder in one") {
  const TempFolder temp;
  temp.file("ant/1.jpg");
  temp.file("bee/1.jpg");
  temp.file("cat/in/1.jpg");
  temp.file("cat/2.jpg");
  const std::string root = temp.path().string();
  REQUIRE(::chmod(root.c_str(), 0755) == 0);
  CHECK(not_whole("image-folder", root) == "");
  REQUIRE(::chmod((temp / "bee").c_str(), 0) == 0);
  REQUIRE(::chmod((temp / "cat/in").c_str(), 0) == 0);
  const AsNobody nobody;
  CHECK_THAT(not_whole("image-folder", root), Contains(root + " is not whole") && Contains("the folder bee") &&
                                                  Contains("cat/in") && Contains("Permission denied") &&
                                                  Contains(kHow));
  const auto listing = open("image-folder", root);  // "warn"
  CHECK(listing->size() == 2);
  CHECK(listing->classes().size() == 3);
  CHECK(listing->missing_count() == 3);  // both folders, and bee has no picture
  CHECK(listing->missing_count() == listing->missing().size());
  CHECK_FALSE(listing->unchanged());  // whether it can be read now only a new look tells
}

TEST_CASE("a class without a picture is missing, a link that leads back is not") {
  const TempFolder temp;
  temp.file("ant/1.jpg");
  temp.link(".", "ant/again");
  CHECK(not_whole("image-folder", temp.path().string()) == "");
  CHECK(open("image-folder", temp.path().string())->remark_count() == 1);
  temp.folder("bee");
  CHECK_THAT(not_whole("image-folder", temp.path().string()), Contains("class folder bee") && Contains(kHow));
}

TEST_CASE("an archive that was cut, or lost its end, is not whole") {
  const std::string whole = whole_archive();
  const TempFolder temp;
  temp.file("a.tar", whole);
  CHECK(not_whole("webdataset", temp.path().string()) == "");
  temp.file("b.tar", whole.substr(0, whole.size() / 2));
  CHECK_THAT(not_whole("webdataset", temp.path().string()), Contains("b.tar: it is cut at byte") && Contains(kHow));
  CHECK(open("webdataset", temp.path().string())->size() == 4 + 2);
  temp.file("b.tar", whole.substr(0, 4 * (512 + 2048 + 512 + 512)));
  CHECK_THAT(not_whole("webdataset", temp.path().string()), Contains("b.tar: it has no end mark"));
  std::string damaged = whole;
  damaged[512 + 2048 + 100] ^= 1;
  temp.file("b.tar", damaged);
  CHECK_THAT(not_whole("webdataset", temp.path().string()), Contains("b.tar: a header's checksum is wrong"));
}

TEST_CASE("members that are passed over are missing where they may be samples") {
  const TempFolder temp;
  TarWriter().file("README", "no sample's").file("1.jpg", "a").end().save(temp.path() / "a.tar");
  CHECK(not_whole("webdataset", temp.path().string()) == "");
  TarWriter().file("1.jpg", "a").file("1.jpg", "b").end().save(temp.path() / "a.tar");
  CHECK_THAT(not_whole("webdataset", temp.path().string()), Contains("1.jpg is there twice"));
  TarWriter()
      .file("1.jpg", "a")
      .pax_file(TarWriter::pax_record("GNU.sparse.major", "1"), "2.jpg", "sparse")
      .end()
      .save(temp.path() / "a.tar");
  CHECK_THAT(not_whole("webdataset", temp.path().string()), Contains("sparse"));
}

TEST_CASE("of many faults the first five are shown, and all are counted") {
  const TempFolder temp;
  temp.file("full/1.jpg");
  for (int i = 0; i < 130; ++i) temp.folder("empty" + std::to_string(i));
  const std::string text = not_whole("image-folder", temp.path().string());
  CHECK_THAT(text, Contains("empty0") && Contains("... and 125 more"));
  CHECK(open("image-folder", temp.path().string())->missing_count() == 130);
}

TEST_CASE("the samples that lack a field are known without looking into the archive") {
  const TempFolder temp;
  TarWriter()
      .file("1.jpg", "a")
      .file("1.cls", "1")
      .file("2.jpg", "b")
      .file("3.cls", "3")
      .end()
      .save(temp.path() / "a.tar");
  const auto listing = open("webdataset", temp.path().string());
  FieldId jpg = 0, cls = 0, path = 0;
  REQUIRE(listing->find_field("jpg", &jpg));
  REQUIRE(listing->find_field("cls", &cls));
  REQUIRE(listing->find_field("path", &path));
  for (uint64_t sample = 0; sample < 3; ++sample) {
    CHECK(listing->lacks(sample, jpg) == (sample == 2));
    CHECK(listing->lacks(sample, cls) == (sample == 1));
    CHECK_FALSE(listing->lacks(sample, path));
  }
}

}  // namespace spdld::missing_test
