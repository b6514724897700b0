#include "config/catalogue.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "config/json.h"

namespace spdld::config {
namespace {

using Type = ParameterType;

constexpr double kSideMax = 16384;              // pixels
constexpr double kBytesMax = 1u << 20;          // of pad-bytes
constexpr double kWholeMax = 9007199254740992;  // 2^53: below it a double holds every integer

Parameter flag(std::string_view name, std::string_view help, bool fallback) {
  return {.name = name, .type = Type::kFlag, .help = help, .fallback = Value(fallback)};
}

Parameter size_parameter(std::string_view help) {
  return {.name = "size",
          .type = Type::kNumbers,
          .help = help,
          .min = 1,
          .max = kSideMax,
          .count_min = 1,
          .count_max = 2,
          .whole = true};
}

Parameter choice(std::string_view name, std::string_view help, std::vector<std::string_view> choices,
                 std::string_view fallback) {
  return {.name = name,
          .type = Type::kChoice,
          .help = help,
          .fallback = Value(std::string(fallback)),
          .choices = std::move(choices)};
}

Parameter antialias() {
  return flag("antialias", "when shrinking, average over all the pixels that are covered", true);
}

Parameter draw() {
  return {.name = "draw",
          .type = Type::kText,
          .help =
              "name of the random numbers to take, by default the operation's: outputs of a sample that give the "
              "same name take the same numbers",
          .fallback = Value(std::string())};
}

Operation random_resized_crop() {
  Parameter scale{.name = "scale",
                  .type = Type::kNumbers,
                  .help = "least and greatest part of the picture's area",
                  .fallback = Value(std::vector<double>{0.08, 1.0}),
                  .min = 0,
                  .max = 1,
                  .count_min = 2,
                  .count_max = 2,
                  .above_min = true};
  Parameter ratio{.name = "ratio",
                  .type = Type::kNumbers,
                  .help = "least and greatest width divided by height",
                  .fallback = Value(std::vector<double>{0.75, 4.0 / 3.0}),
                  .min = 0.01,
                  .max = 100,
                  .count_min = 2,
                  .count_max = 2};
  Parameter box{.name = "box",
                .type = Type::kText,
                .help =
                    "name of an extra output, int32 [B, 4]: the drawn box as x, y, width, height in pixels of the "
                    "upright picture; none when empty",
                .fallback = Value(std::string())};
  return {"random-resized-crop",
          Flow::kImage,
          Flow::kImage,
          "Cut a box of random area and ratio and resize it (bilinear), as torchvision's RandomResizedCrop.",
          {size_parameter("of the result: one number (a square) or [height, width]"), std::move(scale),
           std::move(ratio), std::move(box), antialias(), draw()}};
}

Operation normalize() {
  Parameter mean{.name = "mean",
                 .type = Type::kNumbers,
                 .help = "of red, green and blue, where white is `scale`; at most `scale`",
                 .min = -1000,
                 .max = 1000,
                 .count_min = 3,
                 .count_max = 3};
  Parameter std{.name = "std",
                .type = Type::kNumbers,
                .help = "of red, green and blue, where white is `scale`",
                .min = 0,
                .max = 1000,
                .count_min = 3,
                .count_max = 3,
                .above_min = true};
  Parameter scale{.name = "scale",
                  .type = Type::kInteger,
                  .help = "the colour value that mean and std count as white: 1, or 255 if they are for 8-bit values",
                  .fallback = Value(int64_t{1}),
                  .min = 1,
                  .max = 255};
  return {"normalize",
          Flow::kImage,
          Flow::kTensor,
          "(value * scale / 255 - mean) / std of each colour, written as a tensor; the last operation of its output.",
          {std::move(mean), std::move(std), std::move(scale),
           choice("dtype", "of the tensor's elements", {"float16", "bfloat16", "float32"}, "float32"),
           choice("layout", "order of height, width and channel", {"NHWC", "NCHW"}, "NCHW")}};
}

Operation convert() {
  Parameter scale{.name = "scale",
                  .type = Type::kNumber,
                  .help = "each value 0..255 is multiplied by this number; uint8 takes only 1",
                  .fallback = Value(1.0),
                  .min = 0,
                  .max = 1000,
                  .above_min = true};
  return {"convert",
          Flow::kImage,
          Flow::kTensor,
          "The picture's values as a tensor; the last operation of its output, and the default when none is written.",
          {choice("dtype", "of the tensor's elements", {"uint8", "float16", "bfloat16", "float32"}, "uint8"),
           choice("layout", "order of height, width and channel", {"NHWC", "NCHW"}, "NHWC"), std::move(scale)}};
}

Operation horizontal_flip() {
  Parameter p{.name = "p", .type = Type::kNumber, .help = "probability", .fallback = Value(0.5), .min = 0, .max = 1};
  return {"horizontal-flip",
          Flow::kImage,
          Flow::kImage,
          "Mirror left and right with probability p.",
          {std::move(p), draw()}};
}

Operation pad_bytes() {
  Parameter length{
      .name = "length", .type = Type::kInteger, .help = "of the tensor, in bytes", .min = 1, .max = kBytesMax};
  return {"pad-bytes",
          Flow::kBytes,
          Flow::kTensor,
          "The bytes as they are, uint8 [length], filled up with zeros; longer content is bad content.",
          {std::move(length)}};
}

Operation parse_float() {
  return {
      "parse-float",
      Flow::kBytes,
      Flow::kTensor,
      "A decimal number in ASCII, such as 0.5 or -1e-3, as one element; a number that is not finite is bad content.",
      {choice("dtype", "of the tensor's elements", {"float32", "float64"}, "float32")}};
}

const std::array<Operation, 10>& operation_table() {
  static const std::array<Operation, 10> table = {{
      {"decode-image",
       Flow::kBytes,
       Flow::kImage,
       "Decode a JPEG to RGB, 8 bits a channel; grey becomes RGB.",
       {flag("exif", "turn the picture upright as its EXIF orientation says", true),
        flag("fast",
             "decode large pictures at 1/2, 1/4 or 1/8 of their size where the first resize, antialiased, leaves at "
             "most 5/8 of that: less CPU, pixels that differ a little (50 dB on average), and no cache = \"decoded\"",
             false),
        flag(
            "strict",
            "refuse a picture with damage anywhere in its coded data, which is otherwise decoded as Pillow decodes it; "
            "the whole picture is then decoded, whatever part is needed",
            false)}},
      {"resize",
       Flow::kImage,
       Flow::kImage,
       "Resize (bilinear), as Pillow and torchvision do it.",
       {size_parameter("one number: of the shorter side, the other follows; or [height, width]"), antialias()}},
      {"center-crop",
       Flow::kImage,
       Flow::kImage,
       "Cut the middle out, as torchvision's CenterCrop; a smaller picture is filled up with black.",
       {size_parameter("of the result: one number (a square) or [height, width]")}},
      random_resized_crop(),
      horizontal_flip(),
      normalize(),
      convert(),
      {"parse-int",
       Flow::kBytes,
       Flow::kInteger,
       "Decimal digits in ASCII, such as a webdataset's cls member, as an int64.",
       {}},
      parse_float(),
      pad_bytes(),
  }};
  return table;
}

const std::array<SourceType, 2>& source_table() {
  static const std::array<SourceType, 2> table = {{
      {"image-folder",
       "A folder with a folder of pictures for each class; classes are numbered in their names' order.",
       {"image", "class", "path"},
       {{.name = "extensions",
         .type = Type::kText,
         .help = "which files are pictures: comma-separated, without dots, upper case or lower",
         .fallback = Value(std::string("jpg,jpeg"))}}},
      {"webdataset",
       "Tar archives in which the members of one sample follow one another and share their name up to its first dot; "
       "a field is a member's extension, and path the sample's key. from = \"jpg;jpeg;png\" takes the first of these "
       "that a "
       "sample has, and from = \"json:meta.label\" a value in a json member. The uri may have braces and wildcards "
       "(a-{000..127}.tar, {train,extra}/*.tar), be a folder, or a list of uris, which follow one another. Archives "
       "are "
       "plain .tar files: this version reads no .tar.gz or .tar.zst.",
       {},
       {}},
  }};
  return table;
}

std::string number_text(double number) {
  char text[40];
  if (number >= 9223372036854775807.0) return "9223372036854775807";  // the bound is rounded up to 2^63 as a double
  const bool whole = std::abs(number) < kWholeMax && number == static_cast<double>(static_cast<int64_t>(number));
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.10g", number);
  return text;
}

std::string bounds_text(const Parameter& parameter) {
  if (parameter.min == parameter.max) return "";
  if (parameter.above_min) {
    return " above " + number_text(parameter.min) + " and at most " + number_text(parameter.max);
  }
  return " from " + number_text(parameter.min) + " to " + number_text(parameter.max);
}

std::string count_text(int count) {
  static constexpr std::array<std::string_view, 5> kWords = {"no", "one", "two", "three", "four"};
  return count < static_cast<int>(kWords.size()) ? std::string(kWords[static_cast<size_t>(count)])
                                                 : std::to_string(count);
}

std::string choices_text(const Parameter& parameter) {
  std::string text;
  for (const auto& word : parameter.choices) {
    text += (text.empty() ? "\"" : word == parameter.choices.back() ? " or \"" : ", \"") + std::string(word) + "\"";
  }
  return text;
}

Json value_json(const Value& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

std::string_view type_name(Type type) {
  switch (type) {
    case Type::kFlag:
      return "flag";
    case Type::kInteger:
      return "integer";
    case Type::kNumber:
      return "number";
    case Type::kText:
      return "text";
    case Type::kNumbers:
      return "numbers";
    case Type::kChoice:
      return "choice";
    case Type::kSize:
      return "size";
    case Type::kTexts:
      return "texts";
  }
  return "";
}

Json parameters_json(const std::vector<Parameter>& parameters) {
  auto list = Json::array();
  for (const auto& parameter : parameters) {
    Json entry = {{"name", parameter.name},
                  {"type", type_name(parameter.type)},
                  {"help", parameter.help},
                  {"allowed", allowed(parameter)},
                  {"required", !parameter.fallback.has_value()}};
    if (parameter.fallback) entry["default"] = value_json(*parameter.fallback);
    if (parameter.min != parameter.max) {
      entry["min"] = parameter.min;
      entry["max"] = parameter.max;
      entry["above_min"] = parameter.above_min;
    }
    if (parameter.type == Type::kNumbers) entry["count"] = {parameter.count_min, parameter.count_max};
    if (!parameter.choices.empty()) entry["choices"] = parameter.choices;
    list.push_back(std::move(entry));
  }
  return list;
}

std::string parameters_text(const std::vector<Parameter>& parameters) {
  std::string text;
  for (const auto& parameter : parameters) {
    text += "    " + std::string(parameter.name) + ": " + allowed(parameter) + "; ";
    text += parameter.fallback ? "default " + value_json(*parameter.fallback).dump() : std::string("required");
    text += "\n        " + std::string(parameter.help) + "\n";
  }
  return text;
}

}  // namespace

std::string allowed(const Parameter& parameter) {
  if (!parameter.word.empty()) {
    Parameter other = parameter;
    other.word = {};
    return "\"" + std::string(parameter.word) + "\" or " + allowed(other);
  }
  switch (parameter.type) {
    case Type::kFlag:
      return parameter.choices.empty() ? "true or false" : "true, false, " + choices_text(parameter);
    case Type::kInteger:
      return "an integer" + bounds_text(parameter);
    case Type::kNumber:
      return "a number" + bounds_text(parameter);
    case Type::kText:
      return "a text";
    case Type::kChoice:
      return choices_text(parameter);
    case Type::kSize:
      return "a size such as \"8 GiB\", or bytes," + bounds_text(parameter);
    case Type::kTexts:
      return "a list of texts";
    case Type::kNumbers:
      break;
  }
  std::string text = count_text(parameter.count_min);
  if (parameter.count_max > parameter.count_min) text += " or " + count_text(parameter.count_max);
  text += parameter.whole ? " whole number" : " number";
  if (parameter.count_max > 1) text += "s";
  return text + bounds_text(parameter);
}

std::span<const Operation> operations() { return operation_table(); }
std::span<const SourceType> sources() { return source_table(); }

const Operation* find_operation(std::string_view name) {
  const auto& table = operation_table();
  const auto found = std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const SourceType* find_source(std::string_view name) {
  const auto& table = source_table();
  const auto found = std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.name == name; });
  return found == table.end() ? nullptr : &*found;
}

Flow field_flow(const SourceType& source, std::string_view field) {
  // Where the data decides the fields, a member may be called "class" as well: it is bytes like any other.
  return field == "class" && !source.fields.empty() ? Flow::kInteger : Flow::kBytes;
}

std::string_view flow_name(Flow flow) {
  switch (flow) {
    case Flow::kBytes:
      return "bytes";
    case Flow::kImage:
      return "image";
    case Flow::kInteger:
      return "integer";
    case Flow::kTensor:
      return "tensor";
  }
  return "";
}

std::string operations_text() {
  std::string text = "Operations, [[output]] ops:\n";
  for (const auto& operation : operations()) {
    text += "\n  " + std::string(operation.name) + "  (" + std::string(flow_name(operation.in)) + " -> " +
            std::string(flow_name(operation.out)) + ")\n    " + std::string(operation.help) + "\n" +
            parameters_text(operation.parameters);
  }
  text += "\nSources, [source] type:\n";
  for (const auto& source : sources()) {
    text += "\n  " + std::string(source.name) + "\n    " + std::string(source.help) + "\n";
    if (!source.fields.empty()) {
      text += "    fields:";
      for (const auto& field : source.fields) text.append(" ").append(field);
      text += "\n";
    }
    text += parameters_text(source.parameters);
  }
  return text;
}

std::string operations_json() {
  Json root = {{"operations", Json::array()}, {"sources", Json::array()}};
  for (const auto& operation : operations()) {
    root["operations"].push_back({{"name", operation.name},
                                  {"in", flow_name(operation.in)},
                                  {"out", flow_name(operation.out)},
                                  {"help", operation.help},
                                  {"parameters", parameters_json(operation.parameters)}});
  }
  for (const auto& source : sources()) {
    root["sources"].push_back({{"name", source.name},
                               {"help", source.help},
                               {"fields", source.fields},
                               {"parameters", parameters_json(source.parameters)}});
  }
  return root.dump(2);
}

}  // namespace spdld::config
