// Parts of a data set: disjoint, whole, the same whatever is added, and the same for all ranks.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "config/checks/load.h"
#include "daemon/pipeline/order/choice.h"
#include "daemon/sampler/sharding.h"
#include "daemon/source/fingerprint.h"
#include "daemon/source/joined.h"
#include "daemon/source/opening/opening.h"
#include "tests/support/temp_dir.h"

namespace spdld::part_test {

using namespace spdld;
using Catch::Contains;
using Names = std::set<std::string>;

namespace {

Names names_of(const config::PipelineSpec& spec, const source::Listing& listing) {
  const pipeline::Choice choice = pipeline::choose(spec, listing, {});
  Names names;
  for (const auto& source : choice.mix.sources())
    for (uint64_t number = 0; number < source.order.size(); ++number)
      CHECK(names.insert(listing.name(source.first_id + source.order.subset()[number])).second);
  return names;
}

// Pictures in folders, in the order of their names; the first folder is the class. Nobody reads them.
class NamedListing final : public source::Listing {
 public:
  explicit NamedListing(const Names& names) : names_(names.begin(), names.end()) {
    Names classes;
    for (const std::string& name : names_) classes.insert(name.substr(0, name.find('/')));
    classes_.assign(classes.begin(), classes.end());
    source::Fingerprint fingerprint;
    for (const std::string& name : names_) fingerprint.add_text(name);
    fingerprint_ = fingerprint.digits();
  }
  uint64_t size() const override { return names_.size(); }
  std::span<const source::Field> fields() const override { return fields_; }
  store::Locator locate(uint64_t, source::FieldId) const override { return {"x", 0, -1, {}}; }
  int64_t integer(uint64_t sample, source::FieldId) const override {
    const std::string folder = names_[sample].substr(0, names_[sample].find('/'));
    return std::find(classes_.begin(), classes_.end(), folder) - classes_.begin();
  }
  std::string name(uint64_t sample) const override { return names_[sample]; }
  const std::string& fingerprint() const override { return fingerprint_; }
  uint64_t memory_bytes() const override { return 0; }
  std::span<const std::string> classes() const override { return classes_; }
  bool unchanged() const override { return true; }

 private:
  std::vector<std::string> names_, classes_;
  std::string fingerprint_;
  std::vector<source::Field> fields_ = {{"image", source::FieldKind::kFetched},
                                        {"class", source::FieldKind::kInteger},
                                        {"path", source::FieldKind::kText}};
};

class Pictures {
 public:
  std::string add(const std::string& name) {
    names_.insert(name);
    return name;
  }
  std::string write(const std::string& name, const std::string& text) const { return folder_.write(name, text); }
  // The listing, made anew.
  std::unique_ptr<source::Listing> list() const { return std::make_unique<NamedListing>(names_); }

  // The pipeline that takes this part, with `more` lines in [order].
  config::PipelineSpec spec(const std::string& part, const std::string& more = "") const {
    const auto loaded =
        config::load_pipeline_toml("name = \"p\"\n[source]\ntype = \"image-folder\"\nuri = \"/x\"\n[order]\n" +
                                       (part.empty() ? "" : "part = " + part + "\n") + more +
                                       "\n[[output]]\nname = \"label\"\nfrom = \"class\"\n[batch]\nsize = 4\n",
                                   "p.toml", "/");
    INFO(loaded.sentences());
    REQUIRE(loaded);
    return *loaded.value;
  }
  Names take(const std::string& part, const std::string& more = "") const { return take(spec(part, more)); }
  Names take(const config::PipelineSpec& spec) const { return names_of(spec, *list()); }
  std::string refusal(const std::string& part, const std::string& more = "") const {
    try {
      take(part, more);
      return "it was not refused";
    } catch (const SetupError& error) {
      CHECK(error.trouble() == Trouble::kUsage);
      return error.what();
    }
  }

 private:
  const test::TempDir folder_;
  Names names_;
};

Names both(const Names& a, const Names& b) {
  Names common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(common, common.end()));
  return common;
}

Names all_of(std::initializer_list<Names> parts) {
  Names all;
  for (const Names& part : parts) all.insert(part.begin(), part.end());
  return all;
}

Names without(const Names& names, const Names& others) {
  Names rest;
  std::set_difference(names.begin(), names.end(), others.begin(), others.end(), std::inserter(rest, rest.end()));
  return rest;
}

std::string random_name(std::mt19937_64& random) {
  return "class-" + std::to_string(random() % 5) + "/" + std::to_string(random() % 100'000) + ".jpg";
}

std::string fold(int of, int index, const std::string& more = "") {
  return "{ of = " + std::to_string(of) + ", index = " + std::to_string(index) + more + " }";
}

}  // namespace

TEST_CASE("parts are disjoint and whole, and stay as they are when samples are added") {
  std::mt19937_64 random(37);
  for (int round = 0; round < 8; ++round) {
    const int of = 2 + static_cast<int>(random() % 4);
    const std::string seed = ", seed = " + std::to_string(random() % 3);
    const bool by_class = round % 4 == 3;
    const std::string more = by_class ? seed + ", stratify = \"class\"" : seed;
    Pictures pictures;
    for (int i = 0; i < 120; ++i) pictures.add(random_name(random));
    const Names all = pictures.take("");
    const auto folds = [&] {
      std::vector<Names> taken;
      for (int index = 0; index < of; ++index) taken.push_back(pictures.take(fold(of, index, more)));
      return taken;
    };
    const std::vector<Names> before = folds();
    size_t sum = 0;
    for (int index = 0; index < of; ++index) {
      sum += before[index].size();
      CHECK(both(before[index], before[(index + 1) % of]).empty());
      const Names rest = pictures.take(fold(of, index, more + ", rest = true"));
      CHECK(both(rest, before[index]).empty());
      CHECK(all_of({rest, before[index]}) == all);
    }
    CHECK(sum == all.size());
    if (by_class) continue;
    for (int i = 0; i < 60; ++i) pictures.add((i % 3 == 0 ? "new-class/" : "") + random_name(random));
    const std::vector<Names> after = folds();
    for (int index = 0; index < of; ++index) {
      CHECK(both(after[index], all) == before[index]);
      CHECK(after[index].size() > before[index].size());
    }
  }
}

TEST_CASE("a part does not depend on lists, the seed of the pipeline, or the order of the listing") {
  Pictures pictures;
  std::mt19937_64 random(2);
  for (int i = 0; i < 80; ++i) pictures.add(random_name(random));
  const Names all = pictures.take(""), part = pictures.take("{ fraction = 0.4 }");
  CHECK(part.size() > 15);
  CHECK(part.size() < 50);
  CHECK(pictures.take("{ fraction = 0.4, seed = 1 }") != part);
  config::PipelineSpec other = pictures.spec("{ fraction = 0.4 }");
  other.seed = 99, other.order.shuffle = config::Shuffle::kOff;
  CHECK(pictures.take(other) == part);
  std::string list;
  Names listed;
  for (const std::string& name : all)
    if (random() % 2) list += name + "\n", listed.insert(name);
  const std::string file = pictures.write("list", list);
  CHECK(pictures.take("{ fraction = 0.4 }", "include = \"" + file + "\"") == both(part, listed));
  CHECK(pictures.take("{ fraction = 0.4 }", "exclude = \"" + file + "\"") == without(part, listed));
}

TEST_CASE("the first samples of a part follow the listing's order") {
  Pictures pictures;
  std::mt19937_64 random(3);
  for (int i = 0; i < 60; ++i) pictures.add(random_name(random));
  const Names part = pictures.take("{ fraction = 0.5 }"), first = pictures.take("{ fraction = 0.5 }", "first = 7");
  CHECK(first == Names(part.begin(), std::next(part.begin(), 7)));  // names of this folder are in the listing's order
}

TEST_CASE("all ranks take the same part, and share it") {
  Pictures pictures;
  std::mt19937_64 random(4);
  for (int i = 0; i < 70; ++i) pictures.add(random_name(random));
  const Names part = pictures.take("{ fraction = 0.6 }");
  Names together;
  for (uint64_t rank = 0; rank < 3; ++rank) {  // each has a daemon of its own, which lists the data anew
    const config::PipelineSpec spec = pictures.spec("{ fraction = 0.6 }");
    const auto listing = pictures.list();
    const pipeline::Choice choice = pipeline::choose(spec, *listing, {});
    const sampler::Sharding sharding(choice.mix.epoch_samples(), spec.batch, rank, 3);
    sampler::MixReader reader(choice.mix);
    for (uint64_t step = 0; step < sharding.steps(); ++step) {
      const sampler::Slice slice = sharding.slice({0, step});
      for (uint64_t i = 0; i < slice.count; ++i)
        CHECK(together.insert(listing->name(reader.at(0, slice.place(i)).id)).second);
    }
  }
  CHECK(together == part);
}

TEST_CASE("stratified parts have their share of each class, to one sample, and move few when samples are added") {
  Pictures pictures;
  std::mt19937_64 random(5);
  std::map<std::string, int> sizes;
  for (int c = 0; c < 12; ++c) {
    const std::string name = "class-" + std::to_string(c);
    for (int i = 0; i < 1 + c * 4; ++i) pictures.add(name + "/" + std::to_string(random()) + ".jpg"), ++sizes[name];
  }
  const std::string part = "{ fraction = 0.3, stratify = \"class\" }";
  const Names before = pictures.take(part);
  std::map<std::string, int> taken;
  for (const std::string& name : before) ++taken[name.substr(0, name.find('/'))];
  for (const auto& [name, size] : sizes) CHECK(std::abs(taken[name] - 0.3 * size) < 1);
  const Names all = pictures.take("");
  pictures.add("class-11/added.jpg");
  pictures.add("another class/0.jpg");
  const Names after = both(pictures.take(part), all);
  CHECK(without(after, before).size() + without(before, after).size() <= 1);
}

TEST_CASE("samples of a folder stay together, and so do samples of a group in a file") {
  Pictures pictures;
  std::string file;
  for (int patient = 0; patient < 30; ++patient)
    for (int scan = 0; scan < 4; ++scan) {
      const std::string name = pictures.add(std::string(scan % 2 ? "ill" : "well") + "/patient-" +
                                            std::to_string(patient) + "/" + std::to_string(scan) + ".jpg");
      file += name + (patient % 2 ? "," : "\t") + "p" + std::to_string(patient) + "\n";
    }
  const std::string path = pictures.write("groups.csv", "\xEF\xBB\xBF" + file);
  const auto check_whole = [&](const std::string& groups, size_t size, const auto& group_of) {
    const Names part = pictures.take("{ fraction = 0.5, groups = \"" + groups + "\" }");
    CHECK(part.size() > 20);
    CHECK(part.size() < 100);
    std::map<std::string, size_t> sizes;
    for (const std::string& name : part) ++sizes[group_of(name)];
    for (const auto& [group, taken] : sizes) CHECK(taken == size);
    CHECK(all_of({part, pictures.take("{ fraction = 0.5, rest = true, groups = \"" + groups + "\" }")}).size() == 120);
  };
  check_whole("folder", 2, [](const std::string& name) { return name.substr(0, name.rfind('/')); });
  check_whole(path, 4,
              [](const std::string& name) { return name.substr(name.find('/'), name.rfind('/') - name.find('/')); });
}

TEST_CASE("parts of several sources are their own") {
  Pictures pictures;
  for (int i = 0; i < 60; ++i) pictures.add("a/" + std::to_string(i) + ".jpg");
  const auto source = [](const std::string& name, const std::string& part) {
    return "[[sources]]\nname = \"" + name + "\"\ntype = \"image-folder\"\nuri = \"/x\"\npart = " + part + "\n";
  };
  const std::string part = "{ fraction = 0.3 }", rest = "{ fraction = 0.3, rest = true }";
  const auto loaded =
      config::load_pipeline_toml("name = \"p\"\n" + source("one", part) + source("two", rest) +
                                     "[[output]]\nname = \"label\"\nfrom = \"class\"\n[batch]\nsize = 4\n",
                                 "p.toml", "/");
  INFO(loaded.sentences());
  REQUIRE(loaded);
  std::vector<source::NamedListing> parts;
  for (const char* name : {"one", "two"}) parts.push_back({name, pictures.list()});
  Names expected;
  for (const std::string& name : pictures.take(part)) expected.insert("one/" + name);
  for (const std::string& name : pictures.take(rest)) expected.insert("two/" + name);
  const auto joined = source::join_listings(std::move(parts));
  CHECK(names_of(*loaded.value, *joined) == expected);
}

TEST_CASE("a part belongs to the run: another part has another fingerprint") {
  Pictures pictures;
  for (int i = 0; i < 40; ++i) pictures.add("a/" + std::to_string(i) + ".jpg");
  std::set<std::string> fingerprints;
  for (const std::string& part : {std::string(), fold(2, 0), fold(2, 1), fold(3, 0), fold(2, 0, ", seed = 1")}) {
    const config::PipelineSpec spec = pictures.spec(part);
    fingerprints.insert(pipeline::choose(spec, *pictures.list(), {}).fingerprint);
  }
  CHECK(fingerprints.size() == 5);
}

TEST_CASE("a part that can't be made is refused with a sentence") {
  Pictures pictures;
  pictures.add("a/0.jpg"), pictures.add("a/1.jpg");
  CHECK_THAT(pictures.refusal("{ fraction = 1e-9 }"), Contains("order.part leaves none of the samples"));
  CHECK_THAT(pictures.refusal("{ fraction = 0.5, groups = \"folder\" }"),
             Contains("order.part.groups: all samples are in one group"));
  const auto with_file = [&](const std::string& text) {
    return pictures.refusal("{ fraction = 0.5, groups = \"" + pictures.write("g", text) + "\" }");
  };
  CHECK_THAT(with_file("a/0.jpg\tx\na/1.jpg\tx\n"), Contains("all samples are in one group"));
  CHECK_THAT(with_file("a/0.jpg\tx\n"), Contains("has no group for 1 of 2 samples, the first of them a/1.jpg"));
  CHECK_THAT(with_file("a/0.jpg\n"), Contains("line 1: a line is a sample's name or id, a TAB or comma"));
  CHECK_THAT(with_file("a/0.jpg,\n"), Contains("line 1: a line is"));
  CHECK_THAT(with_file("0,x\na/1.jpg,y\na/0.jpg,z\n"), Contains("line 3: sample 0 (a/0.jpg) has another group"));
  CHECK_THAT(with_file("0,x\na/7.jpg,y\n"), Contains("line 2: no sample has the name"));
  CHECK_THROWS_WITH(pictures.take("{ fraction = 0.5, groups = \"/nowhere\" }"),
                    Contains("order.part.groups: /nowhere"));
}

namespace {

// A manifest of scans. Each scan belongs to one patient.
class Scans {
 public:
  explicit Scans(bool is_json) : is_json_(is_json) {}
  void add(const std::string& scan, const std::string& patient) {
    rows_ += is_json_ ? "{\"scan\": \"" + scan + "\", \"patient\": " + patient + "}\n" : scan + ',' + patient + '\n';
  }
  // Each listing is made anew, or from the kept one.
  Names take(const std::string& part) const {
    const std::string path =
        folder_.write(is_json_ ? "scans.jsonl" : "scans.csv", (is_json_ ? "" : "scan,patient\n") + rows_);
    const auto loaded = config::load_pipeline_toml(
        "name = \"p\"\n[source]\ntype = \"manifest\"\nkey = \"scan\"\nuri = \"" + path + "\"\n[order]\npart = " + part +
            "\n[[output]]\nname = \"x\"\nfrom = \"__key__\"\nragged = true\nlength_max = 99\nops = [{ op = \"bytes\" "
            "}]\n"
            "[batch]\nsize = 4\n",
        "p.toml", "/");
    INFO(loaded.sentences());
    REQUIRE(loaded);
    const auto listing = source::open_listing(loaded.value->sources.front(), {}, {}, kept_.path());
    return names_of(*loaded.value, *listing);
  }
  std::string refusal(const std::string& part) const {
    try {
      take(part);
      return "it was not refused";
    } catch (const SetupError& error) {
      return error.what();
    }
  }

 private:
  const bool is_json_;
  const test::TempDir folder_, kept_;
  std::string rows_;
};

}  // namespace

TEST_CASE("rows of one patient fall in one part, which rows that are added do not change") {
  std::mt19937_64 random(12);
  for (const bool is_json : {false, true}) {
    Scans scans(is_json);
    std::map<std::string, std::string> patient_of;
    const auto add = [&](int count, const std::string& prefix) {
      for (int i = 0; i < count; ++i) {
        const std::string scan = prefix + std::to_string(i), patient = std::to_string(random() % 40);
        scans.add(scan, patient);
        patient_of[scan] = patient;
      }
    };
    add(200, "scan-");
    const int of = 3;
    const std::string by_column = ", groups = \"column\", groups_column = \"patient\"";
    std::vector<Names> before;
    std::map<std::string, int> part_of;  // by patient
    size_t sum = 0;
    for (int index = 0; index < of; ++index) {
      before.push_back(scans.take(fold(of, index, by_column)));
      CHECK(scans.take(fold(of, index, by_column)) == before.back());  // what another rank takes
      const Names rest = scans.take(fold(of, index, by_column + ", rest = true"));
      CHECK(both(rest, before.back()).empty());
      CHECK(rest.size() + before.back().size() == 200);
      sum += before.back().size();
      for (const std::string& scan : before.back())
        CHECK(part_of.emplace(patient_of[scan], index).first->second == index);
    }
    CHECK(sum == 200);
    CHECK(part_of.size() > 30);
    add(100, "later-");
    for (int index = 0; index < of; ++index) {
      const Names after = scans.take(fold(of, index, by_column));
      CHECK(all_of({after, before[index]}) == after);
      for (const std::string& scan : after) CHECK(part_of.emplace(patient_of[scan], index).first->second == index);
    }
  }
}

TEST_CASE("a column of groups must have a text in each row, and several texts") {
  const std::string part = "{ fraction = 0.5, groups = \"column\", groups_column = \"patient\" }";
  Scans scans(false);
  for (const char* scan : {"a", "b"}) scans.add(scan, "7");
  CHECK_THAT(scans.refusal(part),
             Contains("order.part.groups: all samples are in one group") && Contains("another column"));
  for (const char* scan : {"c", "d"}) scans.add(scan, "");
  CHECK_THAT(scans.refusal(part), Contains("order.part.groups: the column \"patient\" has no text for 2 of 4 rows") &&
                                      Contains("the first of them c"));
  CHECK_THAT(scans.refusal("{ fraction = 0.5, groups = \"column\", groups_column = \"ward\" }"),
             Contains("has no column \"ward\""));
  Scans json(true);
  json.add("a", "null");
  json.add("b", "\"x\"");
  CHECK_THAT(json.refusal(part), Contains("has no text for 1 of 2 rows"));
}

}  // namespace spdld::part_test
