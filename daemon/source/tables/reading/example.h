// The message tf.train.Example in protobuf's wire format (https://protobuf.dev/programming-guides/encoding/;
// tensorflow/core/example/{example,feature}.proto): Example { Features features = 1 }, Features { map<string, Feature>
// feature = 1 }, Feature { oneof: BytesList bytes_list = 1, FloatList float_list = 2, Int64List int64_list = 3 }, each
// with repeated values = 1. The bytes are not trusted: every length is bounded by what holds it, and nothing recurses.
// Pure functions; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "daemon/base/result.h"

namespace spdld::source {

enum class FeatureKind : uint8_t { kNone, kBytes, kFloat, kInt64 };
std::string_view feature_kind_name(FeatureKind kind);  // "bytes", "float", "int64"

struct Feature {
  FeatureKind kind = FeatureKind::kNone;  // kNone: the feature holds no list
  std::span<const uint8_t> list;          // of that kind, encoded
};

// Calls each(name, feature) for the features, where a name may come twice: then the later one counts. False: the bytes
// are no such message.
bool for_each_feature(std::span<const uint8_t> example,
                      const std::function<void(std::string_view, const Feature&)>& each);

// The values of a feature: of bytes the one value that there must be, of numbers any number of values of four or eight
// bytes.
struct FeatureValues {
  std::span<const uint8_t> bytes;  // of kBytes
  uint64_t count = 0;              // of kFloat and kInt64
};
// kContent: the list is damaged, or holds none or several values of bytes.
Result<FeatureValues> values_of(const Feature& feature);
// Writes the values of a list that values_of() has counted, little-endian.
void write_values(const Feature& feature, uint8_t* to);

}  // namespace spdld::source
