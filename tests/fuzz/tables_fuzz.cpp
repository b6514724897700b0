// Feeds arbitrary bytes to the readers of tables: the first byte chooses one. Whatever the bytes are, rows lie in the
// file, and values lie in their rows.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "config/text/remote_uri.h"
#include "daemon/base/formats/base64.h"
#include "daemon/base/formats/npy.h"
#include "daemon/base/result.h"
#include "daemon/source/annotations/list_text.h"
#include "daemon/source/annotations/voc_annotation.h"
#include "daemon/source/annotations/yolo_labels.h"
#include "daemon/source/tables/coco/coco_index.h"
#include "daemon/source/tables/manifest_index.h"
#include "daemon/source/tables/mds.h"
#include "daemon/source/tables/named_files.h"
#include "daemon/source/tables/reading/csv.h"
#include "daemon/source/tables/reading/example.h"
#include "daemon/source/tables/reading/json_text.h"
#include "daemon/source/tables/tfrecord.h"
#include "tests/support/bytes_view.h"

namespace {

using namespace spdld;
using namespace spdld::source;

using Bytes = std::span<const uint8_t>;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Copies rows out, so that a sanitizer sees a reader that goes beyond.
void take_all(const store::Packing& packing, Bytes holder, uint32_t fields) {
  const std::vector<uint8_t> copy(holder.begin(), holder.end());
  for (uint32_t field = 0; field < fields; ++field) {
    const auto piece = packing.find(copy, field);
    if (!piece) continue;
    std::vector<uint8_t> value(piece->bytes_max);
    const auto size = packing.unpack(*piece, value.data());
    require(!size || *size <= piece->bytes_max);
  }
}

template <typename Read>
void index_file(Bytes bytes, const Read& read, const store::Packing* packing, uint32_t fields) {
  test::BytesView file(bytes);
  std::atomic<uint64_t> done{0};
  try {
    const TableIndex index = read(file, done);
    const auto again = index_in(kept_bytes_of(index), bytes.size());
    require(again && again->rows() == index.rows());
    for (uint64_t row = 0; row < index.rows(); ++row) {
      const auto [offset, length] = index.places[row];
      require(again->places[row] == index.places[row]);
      require(offset <= bytes.size() && length <= bytes.size() - offset);
      if (packing != nullptr) take_all(*packing, bytes.subspan(offset, length), fields);
    }
  } catch (const SetupError&) {  // a sentence is an answer
  }
}

void read_manifest(Bytes bytes, ManifestFormat format) {
  const ManifestColumns columns{{"f"}, {"b"}, "c", "k", "k", "w"};
  const ManifestColumns none;
  const CsvRows csv(separator_of(format), 5,
                    {{"f", false, 0}, {"b", true, 1}, {"c", false, 2}, {"k", false, 3}, {"w", false, 4}});
  const JsonRows json({{"f", false, {}}, {"b", true, {}}});
  const store::Packing& rows = format == ManifestFormat::kJsonLines ? static_cast<const store::Packing&>(json) : csv;
  for (const ManifestColumns* wanted : {&columns, &none}) {
    const auto read = [&](store::View& file, std::atomic<uint64_t>& done) {
      return index_manifest(file, "fuzz", format, *wanted, done, std::stop_token());
    };
    index_file(bytes, read, &rows, 2);
  }
}

void read_records(Bytes bytes) {
  const auto read = [](store::View& file, std::atomic<uint64_t>& done) {
    return index_tfrecord(file, "fuzz", done, std::stop_token());
  };
  const ExampleRecords records({"a", "b"}, {true, false});
  index_file(bytes, read, &records, 2);
  take_all(records, bytes, 2);
}

void read_example(Bytes bytes) {
  const std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  for_each_feature(copy, [](std::string_view, const Feature& feature) {
    const auto values = values_of(feature);
    if (!values || feature.kind == FeatureKind::kBytes) return;
    std::vector<uint8_t> written(values->count * (feature.kind == FeatureKind::kFloat ? 4 : 8));
    write_values(feature, written.data());
  });
}

void read_shard(Bytes bytes) {
  MdsShard shard;
  shard.name = "fuzz", shard.samples = bytes.empty() ? 0 : uint64_t{bytes[0]};
  const MdsRows rows({{"a", "bytes", {}}, {"b", "int", 8}, {"c", "str", {}}});
  const auto read = [&](store::View& file, std::atomic<uint64_t>& done) {
    return index_mds(file, "fuzz", shard, done, std::stop_token());
  };
  index_file(bytes, read, &rows, 3);
  take_all(rows, bytes, 3);
}

void read_text(Bytes bytes) {
  try {
    (void)read_mds_index(text_of(bytes), "fuzz");
  } catch (const SetupError&) {  // a sentence is an answer
  }
  std::vector<uint8_t> value(std::max<uint64_t>(bytes.size(), base64_bytes_max(bytes.size())));
  const auto size = read_base64(bytes, value.data());
  require(!size || *size <= value.size());
  const auto plain = plain_json(text_of(bytes), value.data());
  require(!plain || *plain <= bytes.size());
  (void)index_in(text_of(bytes), 1000);
}

void read_start(Bytes bytes) {
  const std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  const auto start = array::read_npy_start(copy);
  require(!start || start->data_place <= copy.size());
}

// A store of every place, which nobody asks anything.
class NoStore final : public store::Store {
 public:
  void read(store::Read&) override { std::abort(); }
  void stat(store::Stat&) override { std::abort(); }
  void list(store::List&) override { std::abort(); }
  void cancel(store::Request&) override { std::abort(); }
  std::string uri_of(std::string_view object) const override { return std::string(object); }
  unsigned concurrency() const override { return 1; }
};

class AnyStores final : public store::Stores {
 public:
  Found find(const std::string& uri) const override {
    require(config::is_remote(uri) && config::remote_uri_fault(uri).empty());
    objects.emplace_back(config::split_remote_uri(uri).object);
    return {store, objects.back()};
  }
  const std::shared_ptr<store::Store> store = std::make_shared<NoStore>();
  mutable std::vector<std::string> objects;  // that were asked for, in order
};

// Rows that name files: what is read is what was held to the rules.
void read_names(Bytes bytes) {
  for (const char* folder : {"/data/", "s3://bucket/set/", "https://host/set/"}) {
    const auto stores = std::make_shared<AnyStores>();
    DataFile manifest{folder + std::string("m.csv")};
    if (config::is_remote(folder)) manifest.store = stores->store, manifest.object = "set/m.csv";
    TextColumn texts;
    for (std::string_view rest = text_of(bytes).substr(0, text_of(bytes).find('\0')); !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      texts.add(line);
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    }
    const uint64_t rows = texts.size();
    try {
      NamedStores named_stores({nullptr, stores});
      const NamedFiles named(texts, manifest, "f", named_stores, std::stop_token());
      size_t asked = 0;
      for (uint64_t row = 0; row < rows; ++row) {
        const Locator locator = named.locate(row);
        require(named.lacks(row) == locator.path.empty());
        require(!manifest.store || named.lacks(row) || locator.store != nullptr);
        if (locator.store == nullptr) continue;
        require(std::string(locator.folder).append(locator.path) == stores->objects.at(asked++));
      }
    } catch (const SetupError&) {  // a sentence is an answer
    }
  }
}

// Lists of one row stand beside one another, so that each text is sound JSON if the file's was.
void read_coco(Bytes bytes) {
  for (const CocoChoice choice : {CocoChoice{false, false, true}, CocoChoice{true, true, false}}) {
    const auto read = [&](store::View& file, std::atomic<uint64_t>& done) {
      const TableIndex index = index_coco(file, "fuzz", choice, done, std::stop_token());
      require(index.texts.size() == index.columns.size() + 2);
      for (size_t i = 0; i < index.texts.size(); ++i) {
        require(index.texts[i].size() == index.rows());
        for (uint64_t row = 0; i >= 2 && row < index.rows(); ++row)
          require(for_each_element_of(index.texts[i][row], [](const JsonValue&) { return true; }));
      }
      return index;
    };
    index_file(bytes, read, nullptr, 0);
  }
}

// Boxes do not end before they begin, and names are texts that JSON can hold.
void read_voc_file(Bytes bytes) {
  const Result<VocAnnotation> annotation = read_voc(text_of(bytes), "fuzz");
  if (!annotation) return;
  for (const VocObject& object : annotation->objects) {
    require(object.box[0] <= object.box[2] && object.box[1] <= object.box[3]);
    ListText list;
    append_text(list.next(), object.name);
    for (const double corner : object.box) append_number(list.next(), corner);
    require(for_each_element_of(list.finish(), [](const JsonValue&) { return true; }));
  }
}

// Labels have names, and boxes lie around their polygons.
void read_yolo_file(Bytes bytes) {
  const YoloLabels labels = read_yolo(text_of(bytes), 3);
  for (const YoloObject& object : labels.objects) {
    require(object.label < 3 && object.box[2] >= 0 && object.box[3] >= 0 && object.polygon.size() % 2 == 0);
    for (size_t i = 0; i < object.polygon.size(); ++i) {
      const double centre = object.box[i % 2], half = object.box[2 + i % 2] / 2;
      require(object.polygon[i] >= centre - half - 1e-9 && object.polygon[i] <= centre + half + 1e-9);
    }
  }
  try {
    for (const std::string& name : read_yolo_names(text_of(bytes), "fuzz"))
      require(!name.empty() && name.find('\n') == std::string::npos);
  } catch (const SetupError&) {  // a sentence is an answer
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Bytes bytes(data + 1, size - 1);
  switch (data[0] % 12) {
    case 0:
      read_manifest(bytes, ManifestFormat::kCsv);
      break;
    case 1:
      read_manifest(bytes, ManifestFormat::kTsv);
      break;
    case 2:
      read_manifest(bytes, ManifestFormat::kJsonLines);
      break;
    case 3:
      read_records(bytes);
      break;
    case 4:
      read_example(bytes);
      break;
    case 5:
      read_shard(bytes);
      break;
    case 6:
      read_text(bytes);
      break;
    case 7:
      read_start(bytes);
      break;
    case 8:
      read_names(bytes);
      break;
    case 9:
      read_coco(bytes);
      break;
    case 10:
      read_voc_file(bytes);
      break;
    default:
      read_yolo_file(bytes);
  }
  return 0;
}
