#include "daemon/source/lists/weight_list.h"

#include <catch2/catch.hpp>
#include <vector>

#include "daemon/source/lists/sample_list.h"
#include "tests/source/temp_folder.h"
#include "tests/support/makers/tar_writer.h"

namespace spdld::weight_list_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

namespace {

using Weights = std::vector<double>;

struct Pictures {
  Pictures() {
    for (const char* name : {"data/a/0.jpg", "data/a/1, \"b\".jpg", "data/c/0.jpg"}) temp.file(name);
    listing = open("image-folder", temp / "data");
  }
  Weights read(const std::string& text, const std::string& column = "") {
    temp.file("list", text);
    return read_sample_weights(temp / "list", column, "order.weights", *listing, stamps, {});
  }
  std::string refused(const std::string& text, const std::string& column = "") {
    try {
      read(text, column);
    } catch (const SetupError& error) {
      CHECK(error.trouble() == Trouble::kUsage);
      return error.what();
    }
    return "it was not refused";
  }

  TempFolder temp;
  std::unique_ptr<Listing> listing;
  Stamps stamps;
};

}  // namespace

TEST_CASE("weights stand behind a name or an id, a TAB or a comma") {
  Pictures pictures;
  REQUIRE(pictures.listing->size() == 3);
  CHECK(pictures.read("\xef\xbb\xbf"
                      "a/0.jpg\t2\nc/0.jpg\t0.5\n1\t3\n") == Weights{2, 3, 0.5});  // behind a byte order mark
  CHECK(pictures.read("a/0.jpg\t2\nc/0.jpg\t0.5\r\n\r\n1\t1e-3\n") == Weights{2, 1e-3, 0.5});
  CHECK(pictures.read("a/0.jpg, 2 \n\"a/1, \"\"b\"\".jpg\",3\n2,.25") == Weights{2, 3, 0.25});
  CHECK(pictures.read("a/1, \"b\".jpg\t3\n0,7") == Weights{7, 3, kNoWeight});
  CHECK(pictures.read("000002,0\n1,-0\n0,1e200") == Weights{1e200, 0, 0});
  CHECK(pictures.read("\xEF\xBB\xBF"
                      "0,1\n") == Weights{1, kNoWeight, kNoWeight});
  CHECK(pictures.read("") == Weights(3, kNoWeight));
  CHECK(pictures.stamps.unchanged() == false);  // it was written anew since the first time
}

TEST_CASE("a column is found by its name in the first line") {
  Pictures pictures;
  const std::string table = "path,size,weight\na/0.jpg,100,2\n2,,3\n";
  CHECK(pictures.read(table, "weight") == Weights{2, kNoWeight, 3});
  CHECK(pictures.read("\xEF\xBB\xBFpath\tthe weight\tsize\r\na/0.jpg\t2\t\r\n", "the weight")[0] == 2);
  CHECK(pictures.read("\"path\",\"a, b\"\n0,5\n", "a, b")[0] == 5);
  CHECK_THAT(pictures.refused(table, "wieght"), Contains("line 1: behind the first column, of names, none is called "
                                                         "\"wieght\"; there are 2."));
  CHECK_THAT(pictures.refused(table, "path"), Contains("none is called \"path\""));
  CHECK_THAT(pictures.refused("path,w,w\n0,1,1\n", "w"), Contains("line 1: two columns are called \"w\"."));
  CHECK_THAT(pictures.refused("path\n", "w"), Contains("none is called \"w\"; there are 0."));
  CHECK_THAT(pictures.refused("\n", "w"), Contains("is empty: its first line must name the columns"));
  CHECK_THAT(pictures.refused("path,size,w\n0,1,1\n1,2\n", "w"), Contains("line 3: there are 2 columns, not 3 as"));
  CHECK_THAT(pictures.refused(table, "size"), Contains("line 3: a weight must be 0 or a number"));
}

TEST_CASE("what is no weight is refused with its line") {
  Pictures pictures;
  const std::string path = "order.weights: " + pictures.temp / "list";
  CHECK(pictures.refused("0,1\n\n1,-2\n") == path + ", line 3: a weight must be 0 or a number from 1e-200 to 1e200.");
  for (const char* weight :
       {"nan", "-nan", "inf", "-inf", "1e201", "1e999", "1e-201", "1e-999", "", "1x", "0x1", "-1e-9"}) {
    INFO(weight);
    CHECK_THAT(pictures.refused("0,1\n1," + std::string(weight)),
               Contains("line 2: a weight must be 0 or a number from 1e-200 to 1e200."));
  }
  CHECK_THAT(pictures.refused("path,weight\n0,1\n"),
             Contains("line 1: a weight must be") && Contains("(order.weights_column)"));
  CHECK_THAT(pictures.refused("0,1\n1\n"), Contains("line 2: there is one column, not 2: a line is a name or id"));
  CHECK_THAT(pictures.refused("a/1, \"b\".jpg,1"), Contains("line 1: there are 3 columns"));
  CHECK_THAT(pictures.refused("0,1\n\"1,2\n"), Contains("line 2: a column's closing quote is missing."));
  CHECK_THAT(pictures.refused("\"0\"1,2\n"), Contains("line 1: a column goes on behind its closing quote."));
  CHECK_THAT(pictures.refused("0,1\nx\u001b[1m,2\n"),
             Contains("line 2: no sample has the name or id that stands there; a line"));
  CHECK_THAT(pictures.refused("3,1\nx,2\n"),
             Contains("line 1: no sample has the name or id that stands there, and the same holds for 1"));
}

TEST_CASE("a file's content does not come back in the message") {
  Pictures pictures;
  const std::string secret = "hunter2";
  for (const std::string& text :
       {"0," + secret, secret + ",1", secret, "0,1," + secret, "\"" + secret, "\"0\"" + secret})
    CHECK_THAT(pictures.refused(text + "\n"), Contains("line 1: ") && !Contains(secret));
  CHECK_THAT(pictures.refused("path," + secret + "\n0,1\n", "w"), Contains("line 1: ") && !Contains(secret));
  CHECK_THAT(pictures.refused("path,w\n0," + secret + "\n", "w"), Contains("line 2: ") && !Contains(secret));
}

TEST_CASE("each sample is weighted once") {
  Pictures pictures;
  CHECK_THAT(pictures.refused("2,1\na/0.jpg,2\na/0.jpg,2\n"), Contains("line 2: sample 0 (a/0.jpg) has a weight in "
                                                                       "another line already"));
  CHECK_THAT(pictures.refused("0,1\na/0.jpg,2\n"), Contains("line 2: sample 0 (a/0.jpg) has"));
}

TEST_CASE("a name that two samples have weighs both") {
  TempFolder temp;
  TarWriter tar;
  tar.file("x.jpg", "1").file("y.jpg", "2").file("x.jpg", "3").end();
  temp.file("a.tar", tar.bytes());
  temp.file("list", "a.tar:x,4\n");
  const auto listing = open("webdataset", temp / "a.tar");
  Stamps stamps;
  CHECK(read_sample_weights(temp / "list", "", "order.weights", *listing, stamps, {}) == Weights{4, kNoWeight, 4});
  CHECK(stamps.unchanged());
}

TEST_CASE("weights that can't be read say why") {
  const Pictures pictures;
  Stamps stamps;
  CHECK_THROWS_WITH(read_sample_weights(pictures.temp / "none", "", "order.weights", *pictures.listing, stamps, {}),
                    Contains("order.weights: ") && Contains("No such file"));
}

}  // namespace spdld::weight_list_test
