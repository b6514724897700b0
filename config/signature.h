// A signature describes the values that pass from one operation of an output to the next. A chain of operations is
// checked by signatures alone: each operation says what it gives for what it takes, or why it can't take that. Plain
// values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/spec.h"

namespace spdld::config {

enum class Kind : uint8_t {
  kBytes,    // of a field, of any length
  kImage,    // red, green and blue of 8 bits; height and width are its dimensions
  kInteger,  // one int64
  kTensor    // the end of a chain: the sample's part of a tensor of the batch
};
std::string_view kind_name(Kind kind);  // "bytes", "image", "integer", "tensor"

// Where bytes come from: not every operation makes sense of all of them.
enum class Origin : uint8_t {
  kContent,  // the content of a file or of an archive's member
  kName,     // the sample's name
  kJson      // a value inside a field that holds JSON
};

// The size of one dimension; none: it differs from sample to sample.
using Dimension = std::optional<int64_t>;

struct Signature {
  Kind kind = Kind::kBytes;
  Origin origin = Origin::kContent;   // of kBytes
  DType dtype = DType::kUint8;        // of kTensor
  std::vector<Dimension> dimensions;  // of kImage: height and width; of kTensor: all, without the batch's
  bool is_resampled = false;          // of kImage: an operation has resized the sample's own picture

  bool is_fixed() const;               // every dimension is the same for all samples
  std::vector<int64_t> shape() const;  // precondition: is_fixed()
  friend bool operator==(const Signature&, const Signature&) = default;
};

Signature bytes_of(Origin origin);
Signature integer();
Signature image(Dimension height, Dimension width, bool is_resampled);
Signature tensor(DType dtype, std::vector<Dimension> dimensions);

}  // namespace spdld::config
