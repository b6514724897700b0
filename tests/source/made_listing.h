// Samples whose fields lie where a test says, and what fetches them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/source/fetching/fetch_router.h"
#include "tests/support/memory_store.h"

namespace spdld::test {

using source::Field;
using source::FieldFetch;
using source::FieldId;
using source::FieldKind;
using store::Locator;

// Samples whose fields lie where the test says, in a store or in files.
class MadeListing final : public source::Listing {
 public:
  explicit MadeListing(size_t fields) {
    for (size_t i = 0; i < fields; ++i) fields_.push_back({"f" + std::to_string(i), FieldKind::kFetched});
  }
  uint64_t size() const override { return 1; }
  std::span<const Field> fields() const override { return fields_; }
  Locator locate(uint64_t, FieldId field) const override { return places.at(field); }
  unsigned store_concurrency() const override { return 8; }
  int64_t integer(uint64_t, FieldId) const override { return 0; }
  std::string name(uint64_t) const override { return "sample"; }
  const std::string& fingerprint() const override { return none_; }
  uint64_t memory_bytes() const override { return 0; }
  std::span<const std::string> classes() const override { return {}; }
  bool unchanged() const override { return true; }
  bool has_rows() const override { return !pieces.empty(); }
  bool gather(uint64_t, FieldId field, std::vector<Locator>& to) const override {
    if (field != 0 || pieces.empty()) return false;
    to = pieces;
    return true;
  }

  std::vector<Locator> places;  // by field
  std::vector<Locator> pieces;  // of field 0, where it is gathered

 private:
  std::vector<Field> fields_;
  const std::string none_;
};

struct House {
  MemoryStore store;
  source::LocalFetcher local{2};
  source::FetchRouter router{local, 1 << 20};
  std::string content = std::string(300'000, '\0');

  House() {
    for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 + i / 256);
    store.put("a.tar", content);
  }
  Locator at(uint64_t offset, int64_t length, const char* object = "a.tar") {
    Locator place;
    place.path = object;
    place.offset = offset;
    place.length = length;
    place.store = &store;
    place.identity = store.identity(object);
    return place;
  }
};

inline std::vector<FieldFetch> fields_of(size_t count) {
  std::vector<FieldFetch> all(count);
  for (size_t i = 0; i < count; ++i) all[i].field = static_cast<FieldId>(i);
  return all;
}

}  // namespace spdld::test
