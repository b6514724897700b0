#include "config/varying.h"

#include <algorithm>

#include "config/operation.h"
#include "config/text/element.h"

namespace spdld::config {
namespace {

// Of one place along the first dimension; above kSampleBytesMax where there are more.
uint64_t bytes_of_place(const Signature& end) {
  uint64_t bytes = dtype_bytes(end.dtype());
  for (size_t i = 1; i < end.dimensions.size(); ++i) {
    const auto size = static_cast<uint64_t>(end.dimensions[i].value());
    if (__builtin_mul_overflow(bytes, size, &bytes) || bytes > kSampleBytesMax) return kSampleBytesMax + 1;
  }
  return bytes;
}

}  // namespace

LengthBound length_bound(const VaryingSpec& varying, const Signature& end) {
  const auto most = end.dimensions.front().most();
  if (!most && varying.length_max == 0)
    return {0, "length_max", "is missing: nothing else bounds the length of this output's samples"};
  uint64_t length_max = varying.length_max;
  if (most)
    length_max = length_max == 0 ? static_cast<uint64_t>(*most) : std::min(length_max, static_cast<uint64_t>(*most));
  const uint64_t bytes = bytes_of_place(end);
  if (bytes == 0 || length_max == 0) return {0, "ops", "gives samples without elements"};
  if (length_max > kLengthMax || length_max * bytes > kSampleBytesMax)
    return {0, "length_max",
            "allows samples of more than " + std::to_string(kSampleBytesMax) + " bytes: at most " +
                std::to_string(std::min(kLengthMax, kSampleBytesMax / bytes)) + " fits here"};
  if (varying.form == Form::kPadded && !element_of(end.dtype(), varying.pad_value))
    return {0, "pad_value",
            "must be a number that the output's type " + std::string(dtype_name(end.dtype())) + " can hold"};
  return {length_max, {}, {}};
}

std::string offsets_name(const std::string& output) { return output + ".offsets"; }

std::vector<std::string> tensor_names(const OutputSpec& output) {
  std::vector<std::string> names = {output.name};
  for (const ExtraTensor& extra : extras_of(output.ops)) names.push_back(extra.name);
  if (output.varying.form == Form::kRagged) names.push_back(offsets_name(output.name));
  for (const std::string* name : {&output.varying.lengths, &output.varying.pad_mask})
    if (output.varying.form == Form::kPadded && !name->empty()) names.push_back(*name);
  return names;
}

}  // namespace spdld::config
