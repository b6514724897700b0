#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

std::string bind_values(const OperationSpec& spec, Signature& signature) {
  const Frame frame = signature.bytes().frame.value_or(Frame());
  return bind_mask(signature, tensor(dtype_named(spec.text("dtype")), {frame.height, frame.width}));
}

bool is_colour(const std::string& text) {
  return text.size() == 7 && text[0] == '#' && text.find_first_not_of("0123456789abcdefABCDEF", 1) == std::string::npos;
}

void check_colours(const std::string& colours, const Complain& complain) {
  if (colours.empty()) return;
  for (const std::string& colour : names_in(colours)) {
    if (!is_colour(colour)) return complain("colours", "must be texts such as \"#800000\", not \"" + colour + "\"");
  }
}

void check_mask(OperationSpec& spec, const Complain& complain) {
  if (spec.text("dtype") == "uint8" && spec.integer("fill") > 255)
    complain("fill", "must be at most 255 with dtype \"uint8\", not " + std::to_string(spec.integer("fill")));
  // All have been added to specs of before: they are left out where they ask for what such specs got.
  const bool has_table = !spec.text("colours").empty(), has_file = !spec.text("colours_file").empty();
  const bool has_other = spec.integer("other") >= 0;
  if (has_table && has_file) complain("colours_file", "can't stand beside colours: leave one of them out");
  if (has_other && !has_table && !has_file)
    complain("other", "is for masks in colours: write colours or colours_file, or leave it out");
  if (has_other && spec.text("dtype") == "uint8" && spec.integer("other") > 255)
    complain("other", "must be at most 255 with dtype \"uint8\", not " + std::to_string(spec.integer("other")));
  check_colours(spec.text("colours"), complain);
  if (!has_table) spec.parameters.erase("colours");
  if (!has_file) spec.parameters.erase("colours_file");
  if (!has_other) spec.parameters.erase("other");
}

}  // namespace

OperationType decode_mask() {
  const Parameter fill{.name = "fill",
                       .type = ParameterType::kInteger,
                       .help = "the value where the geometry leaves the picture, which is black there",
                       .fallback = Value(int64_t{0}),
                       .min = 0,
                       .max = 65535};
  const Parameter colours{.name = "colours",
                          .type = ParameterType::kNames,
                          .help =
                              "of a mask that is painted in colours: the colours of the values 0, 1 and so on, such "
                              "as [\"#000000\", \"#800000\"]; empty: the values are stored",
                          .fallback = Value(std::string())};
  const Parameter colours_file{
      .name = "colours_file",
      .type = ParameterType::kPath,
      .help =
          "a text with these colours, one in each line: three numbers (red, green and blue), four (the value before "
          "them), or \"#800000\"; names of classes may stand there as well",
      .fallback = Value(std::string())};
  const Parameter other{.name = "other",
                        .type = ParameterType::kInteger,
                        .help = "the value of all other colours; -1: a mask with other colours is bad content",
                        .fallback = Value(int64_t{-1}),
                        .min = -1,
                        .max = 65535};
  return {.name = "decode-mask",
          .takes = SignatureKind::kBytes,
          .gives = SignatureKind::kTensor,
          .help =
              "The stored values of a PNG with a palette or of a grey PNG, or the numbers of a PNG's colours, cut, "
              "resized (nearest) and mirrored as the "
              "picture of the output's view; [height, width].",
          .parameters = {choice("dtype", "of the tensor's elements; a value that it can't hold is bad content",
                                {"uint8", "uint16", "int64"}, "uint8"),
                         fill, colours, colours_file, other},
          .bind = bind_values,
          .check = check_mask,
          .medium = PictureTraits{.view_part = ViewPart::kFollows},
          .decodes = true};
}

}  // namespace spdld::config::ops
