// The ids in a file of COCO's form: whole numbers, as the form has them, or texts, as other tools write them. As in
// Python, which pycocotools compares ids in, 1.0 is the same id as 1, and "1" is another one. One thread.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/source/tables/reading/json_text.h"

namespace spdld::source {

struct CocoId {
  bool is_text = false;
  uint64_t number = 0;  // of a text: its place among the texts
  friend auto operator<=>(const CocoId&, const CocoId&) = default;
};

struct CocoIdHash {
  size_t operator()(const CocoId& id) const { return std::hash<uint64_t>()(id.number * 2 + (id.is_text ? 1 : 0)); }
};

class CocoIds {
 public:
  // None: it is neither a text nor a whole number of 0 or more.
  std::optional<CocoId> id_of(const JsonValue& value) {
    if (value.kind == JsonKind::kText) {
      const auto text = plain_text(value);
      if (!text || text->find('\0') != std::string::npos) return std::nullopt;
      const auto [place, is_new] = places_.emplace(*text, texts_.size());
      if (is_new) texts_.push_back(&place->first);
      return CocoId{true, place->second};
    }
    if (const auto number = plain_count(value)) return CocoId{false, *number};
    const auto number = whole_number(value);
    return number ? std::optional(CocoId{false, *number}) : std::nullopt;
  }
  std::string text_of(CocoId id) const { return id.is_text ? *texts_[id.number] : std::to_string(id.number); }
  // Numbers come first, and texts in the order of their bytes, as Python sorts them.
  bool is_before(CocoId a, CocoId b) const {
    if (!a.is_text || !b.is_text) return a < b;
    return *texts_[a.number] < *texts_[b.number];
  }

 private:
  static std::optional<uint64_t> whole_number(const JsonValue& value);  // of "3.0" or "3e2"

  std::unordered_map<std::string, uint64_t> places_;
  std::vector<const std::string*> texts_;
};

}  // namespace spdld::source
