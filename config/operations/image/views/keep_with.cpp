#include "config/operation_types.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

constexpr double kNumbersMax = 1024;  // of an element

std::string bind_kept(const OperationSpec& spec, Signature& signature) {
  std::vector<Dimension> dimensions(1);
  if (const int64_t width = spec.integer("width"); width != 0) dimensions.emplace_back(width);
  return bind_view_list(signature, tensor(dtype_named(spec.text("dtype")), std::move(dimensions)));
}

}  // namespace

OperationType keep_with() {
  const Parameter width{.name = "width",
                        .type = ParameterType::kInteger,
                        .help = "how many numbers each element has; 0: an element is one number",
                        .fallback = Value(int64_t{0}),
                        .min = 0,
                        .max = kNumbersMax};
  return {.name = "keep-with",
          .takes = SignatureKind::kBytes,
          .gives = SignatureKind::kTensor,
          .help =
              "A list that belongs to the boxes or points of another output of the view, such as their classes: the "
              "elements whose boxes or points were kept, [n] or [n, width].",
          .parameters =
              {{.name = "of", .type = ParameterType::kText, .help = "name of the output with the boxes or points"},
               choice("dtype", "of the tensor's elements", {"uint8", "int32", "int64", "float32", "float64"}, "int64"),
               width},
          .bind = bind_kept,
          .check =
              [](OperationSpec& spec, const Complain& complain) {
                if (spec.text("of").empty()) complain("of", "must be the name of an output with boxes or points");
              },
          .medium = PictureTraits{.view_part = ViewPart::kFollows, .keeps_rows_of = "of"}};
}

}  // namespace spdld::config::ops
