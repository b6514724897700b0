// Manifests whose rows name files by urls.
#include <thread>

#include "daemon/source/files/bounds.h"
#include "tests/source/tables/table_files.h"

namespace spdld::named_files_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;

namespace {

using Texts = std::vector<std::string>;

// Buckets by their name. A pipeline may use objects whose uris have one of some beginnings.
struct Buckets final : store::Stores {
  Found find(const std::string& uri) const override {
    ++asked;
    if (!config::lies_below_any(uri, allowed))
      throw SetupError(Trouble::kDenied, uri + " lies in no store that the operator allows (data.stores).");
    const config::RemoteUri parts = config::split_remote_uri(uri);
    auto& store = buckets[std::string(parts.authority)];
    if (!store) store = std::make_shared<MemoryStore>(std::string(parts.authority), std::string(parts.scheme));
    return {store, std::string(parts.object)};
  }
  Texts allowed = {"s3://one", "s3://two/open", "https://host"};
  mutable std::map<std::string, std::shared_ptr<MemoryStore>> buckets;
  mutable uint64_t asked = 0;
};

struct House {
  std::shared_ptr<Buckets> buckets = std::make_shared<Buckets>();
  TempFolder temp, kept;

  House() {
    put("s3://one/set/a.jpg", "one a");
    put("s3://one/b.jpg", "one b");
    put("s3://two/open/c.jpg", "two c");
    put("https://host/d%20e.jpg", "web d");
    put("https://host/set/100%25.jpg", "web percent");
    temp.file("local.jpg", "local");
  }
  void put(const std::string& uri, const std::string& content) const {
    const auto found = buckets->find(uri);
    static_cast<MemoryStore&>(*found.store).put(found.object, content);
  }
  std::unique_ptr<Listing> open(const std::string& uri, std::shared_ptr<const Bounds> bounds = {},
                                bool keeps = false) const {
    config::SourceSpec spec;
    spec.type = "manifest";
    spec.uris = {uri};
    spec.parameters = {{"files", std::string("f")}};
    return open_listing(spec, {}, {}, keeps ? kept.path() : std::filesystem::path(), nullptr,
                        {std::move(bounds), buckets});
  }
  // A listing of a manifest with these rows.
  std::unique_ptr<Listing> local(const std::string& rows) const {
    temp.file("m.csv", "f\n" + rows);
    return open(temp / "m.csv");
  }
  std::unique_ptr<Listing> remote(const std::string& uri, const std::string& rows) const {
    put(uri, "f\n" + rows);
    return open(uri);
  }
  template <typename Open>
  Error refusal(const Open& open_it) const {
    try {
      open_it();
    } catch (const SetupError& error) {
      CHECK(std::string(error.what()).ends_with("."));
      return error.error();
    }
    return {Trouble::kInternal, "it was not refused"};
  }
};

}  // namespace

TEST_CASE("rows name objects of several stores and local files") {
  const House house;
  const auto listing = house.local("s3://one/set/a.jpg\nlocal.jpg\ns3://two/open/c.jpg\nhttps://host/d%20e.jpg\n" +
                                   (house.temp / "local.jpg") + "\nfile://" + (house.temp / "local.jpg") + "\n\"\"\n");
  REQUIRE(listing->size() == 7);
  const Texts expected = {"one a", "local", "two c", "web d", "local", "local"};
  for (size_t i = 0; i < expected.size(); ++i) CHECK(contents(*listing, i, {"f"}) == Texts{expected[i]});
  CHECK(listing->lacks(6, 0));
  CHECK(listing->store_concurrency() == 8);
  // Nothing is asked of a store when rows are listed.
  CHECK(house.buckets->buckets.at("one")->count("stat") == 0);
  CHECK(house.buckets->buckets.at("one")->count("read") == 1);
}

TEST_CASE("paths begin at the manifest's folder, wherever it lies") {
  const House house;
  const auto s3 = house.remote("s3://one/set/m.csv", "a.jpg\n../b.jpg\n./x/..//a.jpg\ns3://two/open/c.jpg\n");
  for (const auto& [row, content] :
       std::map<uint64_t, std::string>{{0, "one a"}, {1, "one b"}, {2, "one a"}, {3, "two c"}})
    CHECK(contents(*s3, row, {"f"}) == Texts{content});
  FieldId field = 0;
  CHECK(s3->locate(0, field).folder == "set/");  // texts are held as they stand in their rows
  const auto web = house.remote("https://host/set/m.csv", "100%.jpg\n../d e.jpg\n");
  CHECK(contents(*web, 0, {"f"}) == Texts{"web percent"});
  CHECK(contents(*web, 1, {"f"}) == Texts{"web d"});
}

TEST_CASE("the rules for uris hold for each row, and the sentence names it") {
  const House house;
  const auto refused = [&](const std::string& text, Trouble trouble, const std::string& words) {
    INFO(text);
    const Error error = house.refusal([&] { house.local("local.jpg\n" + text + "\n"); });
    CHECK(error.trouble == trouble);
    CHECK_THAT(error.message, Contains("m.csv, row 1, column \"f\": ") && Contains(words));
  };
  refused("s3://three/a.jpg", Trouble::kDenied, "s3://three/a.jpg lies in no store that the operator allows");
  refused("s3://two/closed/a.jpg", Trouble::kDenied, "lies in no store");
  refused("s3://two/openly.jpg", Trouble::kDenied, "lies in no store");
  refused("https://host:8080/a.jpg", Trouble::kDenied, "lies in no store");
  refused("http://169.254.169.254/latest", Trouble::kDenied, "lies in no store");
  refused("https://user:sesame@host/a.jpg", Trouble::kUsage, "has a user or a password");
  refused("https://host/a/../b.jpg", Trouble::kUsage, "has a \".\" or \"..\"");
  refused("https://host/a/%2e%2E/b.jpg", Trouble::kUsage, "has a \".\" or \"..\"");
  refused("https://host/a.jpg?size=1", Trouble::kUsage, "has a query");
  refused("https://host/folder/", Trouble::kUsage, "names no object");
  refused("s3://one", Trouble::kUsage, "names no object");
  refused("gs://one/a.jpg", Trouble::kUsage, "\"gs\" is not supported");
  refused("file://elsewhere/a.jpg", Trouble::kUsage, "names another machine");
}

TEST_CASE("a manifest in a store names no local file, and nothing outside of what is allowed") {
  const House house;
  const auto refused = [&](const std::string& uri, const std::string& text, Trouble trouble, const std::string& words) {
    INFO(uri << " " << text);
    const Error error = house.refusal([&] { house.remote(uri, "a.jpg\n" + text + "\n"); });
    CHECK(error.trouble == trouble);
    CHECK_THAT(error.message, Contains(uri + ", row 1, column \"f\": ") && Contains(words));
  };
  refused("s3://one/set/m.csv", "/etc/passwd", Trouble::kUsage, "a local file");
  refused("s3://one/set/m.csv", "file:///etc/passwd", Trouble::kUsage, "a local file");
  refused("s3://one/set/m.csv", "../../b.jpg", Trouble::kUsage, "climbs out of the store");
  refused("s3://two/open/m.csv", "../closed/x.jpg", Trouble::kDenied, "s3://two/closed/x.jpg lies in no store");
  refused("s3://two/open/m.csv", "x/../../closed/x.jpg", Trouble::kDenied, "s3://two/closed/x.jpg lies in no store");
  refused("https://host/set/m.csv", "../../x.jpg", Trouble::kUsage, "climbs out of the store");
}

TEST_CASE("a kept listing is held to the rules of today") {
  const House house;
  house.temp.file("m.csv", "f\ns3://two/open/c.jpg\n");
  const std::string path = house.temp / "m.csv";
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  CHECK(contents(*house.open(path, {}, true), 0, {"f"}) == Texts{"two c"});
  house.buckets->allowed = {"s3://one"};
  CHECK(house.refusal([&] { house.open(path, {}, true); }).trouble == Trouble::kDenied);
}

TEST_CASE("an object that is gone is bad content, and a store that is down a trouble that passes") {
  const House house;
  const auto listing = house.local("s3://one/none.jpg\ns3://one/set/a.jpg\n");
  CHECK_THAT(contents(*listing, 0, {"f"})[0], Contains("s3://one/none.jpg does not exist"));
  house.buckets->buckets.at("one")->fail(1, {Trouble::kTransient, "it is down."});
  LocalFetcher local(1);
  FetchRouter router(local);
  FetchRequest request = request_for(*listing, 1, wanted(*listing, {"f"}));
  fetch_now(router, request);
  CHECK_FALSE(request.ok);
  CHECK(request.error.trouble == Trouble::kTransient);
  fetch_now(router, request);
  REQUIRE(request.ok);
  CHECK(request.fields[0].identity == house.buckets->buckets.at("one")->identity("set/a.jpg"));
}

TEST_CASE("rows may name a bounded number of stores") {
  const House house;
  std::string rows;
  for (int i = 0; i <= 1024; ++i) {
    const std::string bucket = "bucket-" + std::to_string(i);
    rows += "s3://" + bucket + "/a.jpg\n";
    house.buckets->allowed.push_back("s3://" + bucket);
    house.buckets->buckets[bucket] = house.buckets->buckets.at("one");
  }
  CHECK(house.local(rows)->size() == 1025);  // one store has them all
}

TEST_CASE("a column of weights") {
  const TempFolder temp;
  const auto open_with = [&](const std::string& name, const std::string& text) {
    temp.file(name, text);
    config::SourceSpec spec;
    spec.type = "manifest";
    spec.uris = {temp / name};
    spec.weights_column = "w";
    return open_listing(spec, {}, {});
  };
  const auto listing = open_with("m.csv", "a,w\nx,1\ny, 0.25 \nz,\nv,0\n");
  REQUIRE(listing->has_weights());
  CHECK(listing->weight(0) == 1);
  CHECK(listing->weight(1) == 0.25);
  CHECK(listing->weight(2) == kNoWeight);
  CHECK(listing->weight(3) == 0);
  const auto lines = open_with("m.jsonl", "{\"w\": 2}\n{\"w\": null}\n{}\n{\"w\": \"1e-3\"}\n");
  CHECK(lines->weight(0) == 2);
  CHECK(lines->weight(1) == kNoWeight);
  CHECK(lines->weight(2) == kNoWeight);
  CHECK(lines->weight(3) == 1e-3);
  for (const char* text : {"-1", "nan", "inf", "-inf", "1e300", "1e-300", "abc", "1 2", "0x1", "1,"}) {
    INFO(text);
    try {
      open_with("m.csv", std::string("a,w\nx,1\ny,\"") + text + "\"\n");
      FAIL("it was not refused");
    } catch (const SetupError& error) {
      CHECK_THAT(error.what(), Contains("m.csv, row 1: the column \"w\" has ") &&
                                   Contains("a weight must be 0 or a number from 1e-200 to 1e200."));
    }
  }
  CHECK_THROWS_WITH(open_with("m.csv", "a,b\nx,1\n"), Contains("no column \"w\"; it has a, b."));
}

}  // namespace spdld::named_files_test
