#include "daemon/source/tables/reading/example.h"

#include <cstring>

namespace spdld::source {
namespace {

enum class Wire : uint8_t { kVarint = 0, k64 = 1, kBytes = 2, k32 = 5 };

struct WireField {
  uint64_t number = 0;
  Wire wire = Wire::kVarint;
  uint64_t value = 0;              // of kVarint
  std::span<const uint8_t> bytes;  // of the others
};

// Takes the fields of a message off its front.
class WireReader {
 public:
  explicit WireReader(std::span<const uint8_t> message) : rest_(message) {}

  bool is_at_end() const { return rest_.empty(); }
  // None: the message is damaged.
  std::optional<WireField> take() {
    const auto tag = take_varint();
    if (!tag || *tag >> 3 == 0) return std::nullopt;
    WireField field{*tag >> 3, static_cast<Wire>(*tag & 7), 0, {}};
    std::optional<uint64_t> size;
    switch (field.wire) {
      case Wire::kVarint: {
        const auto value = take_varint();
        if (!value) return std::nullopt;
        field.value = *value;
        return field;
      }
      case Wire::k64:
        size = 8;
        break;
      case Wire::k32:
        size = 4;
        break;
      case Wire::kBytes:
        size = take_varint();
        break;
      default:
        return std::nullopt;
    }
    if (!size || *size > rest_.size()) return std::nullopt;
    field.bytes = rest_.first(static_cast<size_t>(*size));
    rest_ = rest_.subspan(static_cast<size_t>(*size));
    return field;
  }
  std::optional<uint64_t> take_varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const uint8_t byte = rest_.front();
      rest_ = rest_.subspan(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

 private:
  std::span<const uint8_t> rest_;
};

// Calls each(field) for the fields of a message; false: the message is damaged, or each() said so.
template <typename Each>
bool for_each_field(std::span<const uint8_t> message, const Each& each) {
  for (WireReader reader(message); !reader.is_at_end();) {
    const auto field = reader.take();
    if (!field || !each(*field)) return false;
  }
  return true;
}

bool is_message(const WireField& field, uint64_t number) {
  return field.number == number && field.wire == Wire::kBytes;
}

std::optional<Feature> feature_in(std::span<const uint8_t> message) {
  Feature feature;
  const bool is_sound = for_each_field(message, [&](const WireField& field) {
    if (field.number <= 3 && field.wire == Wire::kBytes)
      feature = {static_cast<FeatureKind>(field.number), field.bytes};
    return true;
  });
  return is_sound ? std::optional(feature) : std::nullopt;
}

// An entry of the map: key = 1, value = 2.
bool read_entry(std::span<const uint8_t> entry, const std::function<void(std::string_view, const Feature&)>& each) {
  std::string_view name;
  Feature feature;
  const bool is_sound = for_each_field(entry, [&](const WireField& field) {
    if (is_message(field, 1)) name = {reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size()};
    if (!is_message(field, 2)) return true;
    const auto found = feature_in(field.bytes);
    if (found) feature = *found;
    return found.has_value();
  });
  if (is_sound) each(name, feature);
  return is_sound;
}

// Calls each(four or eight bytes of a float, or the value of an int64) for the values of a list, packed or not. False:
// the list is damaged.
template <typename Each>
bool for_each_number(const Feature& feature, const Each& each) {
  const bool is_float = feature.kind == FeatureKind::kFloat;
  return for_each_field(feature.list, [&](const WireField& field) {
    if (field.number != 1) return true;
    if (is_float && field.wire == Wire::k32) {
      each(field.bytes, 0);
    } else if (!is_float && field.wire == Wire::kVarint) {
      each(std::span<const uint8_t>(), field.value);
    } else if (field.wire != Wire::kBytes) {
      return false;
    } else if (is_float) {
      if (field.bytes.size() % 4 != 0) return false;
      for (size_t at = 0; at < field.bytes.size(); at += 4) each(field.bytes.subspan(at, 4), 0);
    } else {
      for (WireReader packed(field.bytes); !packed.is_at_end();) {
        const auto value = packed.take_varint();
        if (!value) return false;
        each(std::span<const uint8_t>(), *value);
      }
    }
    return true;
  });
}

Error bad_list(std::string clause) { return {Trouble::kContent, std::move(clause)}; }

}  // namespace

std::string_view feature_kind_name(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kBytes:
      return "bytes";
    case FeatureKind::kFloat:
      return "float";
    case FeatureKind::kInt64:
      return "int64";
    case FeatureKind::kNone:
      break;
  }
  return "nothing";
}

bool for_each_feature(std::span<const uint8_t> example,
                      const std::function<void(std::string_view, const Feature&)>& each) {
  return for_each_field(example, [&](const WireField& features) {
    if (!is_message(features, 1)) return true;
    return for_each_field(
        features.bytes, [&](const WireField& entry) { return !is_message(entry, 1) || read_entry(entry.bytes, each); });
  });
}

Result<FeatureValues> values_of(const Feature& feature) {
  FeatureValues values;
  if (feature.kind == FeatureKind::kNone) return bad_list("it holds nothing");
  if (feature.kind != FeatureKind::kBytes) {
    if (!for_each_number(feature, [&](std::span<const uint8_t>, uint64_t) { ++values.count; }))
      return bad_list("its list is damaged");
    return values;
  }
  uint64_t count = 0;
  const bool is_sound = for_each_field(feature.list, [&](const WireField& field) {
    if (is_message(field, 1)) {
      values.bytes = field.bytes;
      ++count;
    }
    return true;
  });
  if (!is_sound) return bad_list("its list is damaged");
  if (count != 1) return bad_list("it holds " + std::to_string(count) + " values of bytes, and one is wanted");
  return values;
}

void write_values(const Feature& feature, uint8_t* to) {
  (void)for_each_number(feature, [&](std::span<const uint8_t> bytes, uint64_t value) {
    for (size_t i = 0; bytes.empty() && i < 8; ++i) *to++ = static_cast<uint8_t>(value >> (8 * i));
    for (const uint8_t byte : bytes) *to++ = byte;
  });
}

}  // namespace spdld::source
