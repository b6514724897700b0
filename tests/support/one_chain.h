// Runs a chain of operations on one content, as a decode thread does, and gives the tensor of the sample.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "config/operation.h"
#include "daemon/media/chain.h"
#include "daemon/media/text/json/json_reader.h"

namespace spdld::test {

struct OneChain {
  std::vector<config::OperationSpec> ops;
  config::Form form = config::Form::kFixed;
  uint64_t length_max = 0;  // of a form that is not fixed
  config::TooLong too_long = config::TooLong::kBad;

  // The elements that the chain writes; length_max (or fixed_count) of them have room.
  template <typename T>
  Result<std::vector<T>> run(std::string_view content, const std::string& json_path = {}) const {
    const auto start = config::bytes_of(json_path.empty() ? config::Origin::kContent : config::Origin::kJson);
    const config::Followed followed = config::follow(ops, start, form);
    if (!followed.error.empty()) return Error{Trouble::kUsage, followed.error};
    uint64_t value_elements = 1;
    const auto& sizes = followed.end().dimensions;
    for (size_t i = 1; i < sizes.size(); ++i) value_elements *= static_cast<uint64_t>(sizes[i].value());
    const bool varies = form != config::Form::kFixed;
    const uint64_t places = varies ? length_max : sizes.empty() ? 1 : static_cast<uint64_t>(sizes.front().value());

    constexpr size_t kBehind = 4;  // elements that nobody may write
    std::vector<T> elements(places * value_elements + kBehind, T{77});
    uint32_t length = static_cast<uint32_t>(places);
    media::TensorOut out{.memory = reinterpret_cast<uint8_t*>(elements.data())};
    if (varies) out.length_max = length_max, out.length = &length, out.too_long = too_long;
    media::Workspace workspace;
    text::JsonReader reader;
    const std::span bytes(reinterpret_cast<const uint8_t*>(content.data()), content.size());
    const auto steps = config::parse_field_path("json:" + json_path).steps;
    const text::JsonPlace place{reader, steps};
    media::Value value{.bytes = bytes};
    if (!json_path.empty()) {
      if (Status read = reader.read(bytes); !read) return read.error();
      value.json = &place;
    }
    const media::Chain chain(ops, followed, "out");
    const Status status = chain.run(value, {0, {}, workspace, nullptr, {&out, 1}});
    for (size_t i = elements.size() - kBehind; i < elements.size(); ++i)
      if (elements[i] != T{77}) return Error{Trouble::kInternal, "the chain wrote behind the tensor's end"};
    if (!status) return status.error();
    elements.resize(length * value_elements);
    return elements;
  }

  template <typename T>
  Error error(std::string_view content, const std::string& json_path = {}) const {
    const auto result = run<T>(content, json_path);
    return result ? Error{Trouble::kInternal, "there was no error"} : result.error();
  }
};

}  // namespace spdld::test
