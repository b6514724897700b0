// Tables in remote stores.
#include "daemon/source/joined.h"
#include "tests/source/tables/table_files.h"

namespace spdld::remote_tables_test {

using namespace spdld;
using namespace spdld::source;
using namespace spdld::test;
using Catch::Contains;
using config::Value;

namespace {

using Texts = std::vector<std::string>;

// One data set of each type of table.
struct Case {
  std::string type, name;
  Texts fields;
  config::Parameters parameters = {};
};

struct AllTables : TableFolder {
  AllTables() {
    std::string csv = "file,text,blob,n\n", records;
    for (int i = 0; i < 40; ++i) {
      const std::string number = std::to_string(i);
      file("pictures/" + number + ".jpg", "picture " + number);
      csv += "pictures/" + number + ".jpg,\"text, \"\"" + number + "\"\"\",YWJj," + number + "\n";
      records += tf_record({{"image", std::string(static_cast<size_t>(i * 10), 'i')}, {"label", number}});
    }
    file("m/all.csv", csv);
    file("all.csv", csv);
    file("r/a.tfrecord", records);
    file("r/b.tfrecord", records.substr(0, records.size() - 3));  // cut
    file("n/a.npy", npy_file(30));
    file("n/b.npy", npy_file(11));
    file("raw.bin", "head" + std::string(64, 'a') + std::string(64, 'b') + "tail");
    const Texts first = {"one", "", "three"}, second = {"four"};
    file("mds/shard.0.mds", mds_shard(first));
    file("mds/shard.1.mds", mds_shard(second));
    file("coco/a.json",
         R"({"annotations": [{"id": 1, "image_id": 2, "bbox": [1, 2, 3, 4], "category_id": 9}, {"id": 1}], )"
         R"("images": [{"id": 2, "file_name": "pictures/2.jpg"}, {"id": 1, "file_name": "pictures/1.jpg"}], )"
         R"("categories": [{"id": 9, "name": "nine"}]})");
    file("mds/index.json", mds_index({{"shard.0.mds", first}, {"shard.1.mds", second}}));
  }
  const std::vector<Case> cases = {
      {"manifest",
       "all.csv",
       {"file", "text", "blob", "n"},
       {{"files", std::string("file")}, {"base64", std::string("blob")}}},
      {"tfrecord", "r", {"image", "label"}},
      {"npy", "n", {"array"}},
      {"records", "raw.bin", {"record"}, {{"record_bytes", int64_t{64}}, {"header_bytes", int64_t{4}}}},
      {"mds", "mds", {"text"}},
      {"coco", "coco/a.json", {"image", "image_id", "boxes", "labels"}, {{"images", std::string("..")}}}};
};

}  // namespace

TEST_CASE("a table in a store is the same data set as the same files in a folder") {
  const AllTables all;
  for (const Case& one : all.cases) {
    INFO(one.type);
    const auto local = all.local(one.type, one.name, one.parameters);
    const auto remote = all.remote(one.type, one.name, one.parameters);
    CHECK(local->store_concurrency() == 0);
    CHECK(remote->store_concurrency() > 0);
    CHECK(remote->fingerprint() == local->fingerprint());
    CHECK(remote->missing_count() == local->missing_count());
    REQUIRE(remote->size() == local->size());
    for (uint64_t i = 0; i < local->size(); ++i) {
      REQUIRE(remote->name(i) == local->name(i));
      REQUIRE(contents(*remote, i, one.fields) == contents(*local, i, one.fields));
    }
    CHECK(remote->unchanged());
  }
}

TEST_CASE("a row of a table comes with one read of its bytes") {
  const AllTables all;
  const auto records = all.remote("tfrecord", "r");
  FieldId field = 0;
  REQUIRE(records->find_field("image", &field) != nullptr);
  const Locator row = records->locate(7, field);
  const size_t before = all.store->asked().size();
  CHECK(contents(*records, 7, {"image", "label"}) == Texts{std::string(70, 'i'), "7"});
  const auto asked = all.store->asked();
  REQUIRE(asked.size() == before + 1);
  CHECK(asked.back().offset == row.offset);
  CHECK(asked.back().bytes == static_cast<uint64_t>(row.length));
}

TEST_CASE("a second listing of a table in a store reads nothing but whether it changed") {
  AllTables all;
  for (const Case& one : all.cases) {
    INFO(one.type);
    KeptUse use;
    const auto first = all.remote(one.type, one.name, one.parameters, &use);
    CHECK(use.read > 0);
    CHECK(use.taken == 0);
    const size_t reads = all.store->count("read"), stats = all.store->count("stat");
    const auto second = all.remote(one.type, one.name, one.parameters, &use);
    CHECK(all.store->count("read") == reads);
    CHECK(all.store->count("stat") - stats <= 2);
    CHECK(second->fingerprint() == first->fingerprint());
    REQUIRE(second->size() == first->size());
    CHECK(contents(*second, 1, one.fields) == contents(*first, 1, one.fields));
  }
}

TEST_CASE("a table that changed is another one: its listing, and rows of the old one") {
  for (const size_t number : {0, 1, 2, 3, 4}) {
    AllTables all;
    const Case& one = all.cases[number];
    INFO(one.type);
    KeptUse use;
    const auto listing = all.remote(one.type, one.name, one.parameters, &use);
    const Texts names = {"all.csv", "r/a.tfrecord", "n/a.npy", "raw.bin", "mds/shard.0.mds"};
    std::string content = all.files.at(names[number]);
    content[content.size() - 10] ^= 1;
    all.store->put("set/" + names[number], content);
    CHECK_FALSE(listing->unchanged());
    CHECK_THAT(contents(*listing, 0, {one.fields.back()})[0], Contains("bad: ") && Contains("was it replaced?"));
    use = {};
    all.remote(one.type, one.name, one.parameters, &use);
    CHECK(use.read > 0);
  }
}

TEST_CASE("tables that are not there, or are damaged, are refused with a sentence") {
  AllTables all;
  for (const auto& [type, name, words] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"manifest", "none.csv", "s3://bucket/set/none.csv does not exist"},
           {"manifest", "m", "s3://bucket/set/m does not exist"},
           {"records", "none", "s3://bucket/set/none does not exist"},
           {"npy", "r", "is neither a .npy file nor a folder with objects named *.npy"},
           {"npy", "all.csv", "s3://bucket/set/all.csv: "},
           {"tfrecord", "all.csv", "s3://bucket/set/all.csv is no TFRecord file"},
           {"mds", "r", "s3://bucket/set/r/index.json does not exist"}}) {
    INFO(type << " " << name);
    config::Parameters parameters;
    if (type == "records") parameters["record_bytes"] = int64_t{64};
    CHECK_THAT(all.refusal(type, name, parameters).message, Contains(words));
  }
  all.store->put("set/mds/shard.1.mds", mds_shard({"four, and more"}));
  CHECK_THAT(all.refusal("mds", "mds").message, Contains("s3://bucket/set/mds/shard.1.mds is no whole shard"));
  all.store->erase("set/mds/shard.1.mds");
  CHECK_THAT(all.refusal("mds", "mds").message, Contains("the shard s3://bucket/set/mds/shard.1.mds does not exist"));
  all.store->put("set/mds/index.json", "{");
  CHECK_THAT(all.refusal("mds", "mds").message, Contains("is no index of MDS shards"));
  all.store->fail(1, {Trouble::kTransient, "it is down."});
  CHECK(all.refusal("npy", "n").trouble == Trouble::kTransient);
}

TEST_CASE("damage in a row of a remote table is bad content of that row alone") {
  AllTables all;
  std::string records = all.files.at("r/a.tfrecord");
  records[40] ^= 1;  // within the first message
  all.store->put("set/r/a.tfrecord", records);
  all.store->put("set/all.csv", "file,blob\nx,!!!!\nx,YWJj\n");
  const auto listing = all.remote("tfrecord", "r");
  CHECK_THAT(contents(*listing, 0, {"label"})[0],
             Contains("bad: s3://bucket/set/r/a.tfrecord, byte 0: the record's checksum is wrong"));
  CHECK(contents(*listing, 1, {"label"}) == Texts{"1"});
  const auto manifest = all.remote("manifest", "all.csv", {{"base64", std::string("blob")}});
  CHECK_THAT(contents(*manifest, 0, {"blob"})[0], Contains("byte 10: its value is no base64."));
  CHECK(contents(*manifest, 1, {"blob", "file"}) == Texts{"abc", "x"});
}

TEST_CASE("a row without a byte is bad content in a store as in a file, and nothing is asked for it") {
  TableFolder all;
  all.file("s.mds", little_endian(1, 4) + little_endian(12, 4) + little_endian(12, 4));
  all.file(
      "index.json",
      R"({"version": 2, "shards": [{"column_names": ["text"], "column_encodings": ["str"], "column_sizes": [null], )"
      R"("samples": 1, "raw_data": {"basename": "s.mds", "bytes": 12}}]})");
  const auto local = all.local("mds", ""), remote = all.remote("mds", "");
  REQUIRE(remote->size() == 1);
  const size_t reads = all.store->count("read");
  CHECK_THAT(contents(*local, 0, {"text"})[0], Contains("other sizes than the sample"));
  CHECK_THAT(contents(*remote, 0, {"text"})[0], Contains("other sizes than the sample"));
  CHECK(all.store->count("read") == reads);
}

TEST_CASE("packed fields wait for room in the budget, and all of them come") {
  const AllTables all;
  const auto listing = all.remote("tfrecord", "r");
  LocalFetcher local(2);
  FetchRouter router(local);
  ByteBudget budget(1'000);  // of one record and its fields
  struct Giver final : FetchObserver {
    void on_fetched(FetchRequest& request) override {
      is_right = is_right && request.ok && request.bytes[0].size() == 10 * request.sample;
      request.budget->give_back(request);
      const std::scoped_lock lock(mutex);
      ++count;
      changed.notify_all();
    }
    std::mutex mutex;
    std::condition_variable changed;
    int count = 0;
    std::atomic<bool> is_right{true};
  } giver;
  all.store->hold(true);
  std::deque<FetchRequest> requests(40);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i] = request_for(*listing, i, wanted(*listing, {"image", "label"}));
    requests[i].budget = &budget;
    requests[i].observer = &giver;
    router.fetch(requests[i]);
  }
  all.store->hold(false);
  std::unique_lock lock(giver.mutex);
  REQUIRE(giver.changed.wait_for(lock, std::chrono::seconds(60), [&] { return giver.count == 40; }));
  CHECK(giver.is_right);
  CHECK(budget.bytes() == 0);
  CHECK(budget.waits() > 0);
}

TEST_CASE("packed and plain fields, of stores and of local files, come with one request, and again") {
  AllTables all;
  all.temp.file("mixed.csv", "file,other,blob\ns3://bucket/set/pictures/3.jpg,pictures/4.jpg,YWJj\n");
  const config::Parameters parameters = {{"files", std::string("file,other")}, {"base64", std::string("blob")}};
  const auto listing = all.local("manifest", "mixed.csv", parameters);
  CHECK(listing->store_concurrency() > 0);
  const Texts expected = {"picture 3", "picture 4", "abc"};
  CHECK(contents(*listing, 0, {"file", "other", "blob"}) == expected);
  const auto remote = all.remote("manifest", "all.csv", all.cases[0].parameters);
  LocalFetcher local(1);
  FetchRouter router(local);
  FetchRequest request = request_for(*remote, 5, wanted(*remote, {"file", "blob", "n"}));
  for (int i = 0; i < 3; ++i) {
    fetch_now(router, request);
    REQUIRE(request.ok);
    CHECK(text(request.bytes[0]) == "picture 5");
    CHECK(text(request.bytes[1]) == "abc");
    CHECK(text(request.bytes[2]) == "5");
    CHECK(request.fields[1].identity == all.store->identity("set/all.csv"));
    CHECK(request.fields[2].identity == all.store->identity("set/all.csv"));
    CHECK(request.fields[0].identity == all.store->identity("set/pictures/5.jpg"));
  }
  // A copy of a packed field is as right as its table.
  for (FieldFetch& field : request.fields) field.want = FieldFetch::Want::kChanged;
  request.fields[0].want = FieldFetch::Want::kNothing;
  const size_t before = all.store->asked().size();
  CHECK(router.fetch_at_hand(request));
  CHECK(request.fields[1].unchanged);
  CHECK(all.store->asked().size() == before);
}

}  // namespace spdld::remote_tables_test
