#include "config/segments.h"
#include "config/source_types.h"
#include "config/text/call_path.h"
#include "config/text/value_type.h"

namespace spdld::config::source_types {
namespace {

constexpr double kItemsMax = 0x1p40;
constexpr Called kDataSet = {
    .noun = "data set", .word = "name", .module = "photos", .example = "train", .inner = "Photos.train"};

const std::string& text(const SourceSpec& spec, std::string_view name) {
  return std::get<std::string>(spec.parameters.find(name)->second);
}

void check_items(const SourceSpec& spec, const Complain& complain) {
  const std::string& code = text(spec, "code");
  if (std::string fault = code_fault(code); !fault.empty()) complain("code", std::move(fault));
  if (std::string fault = call_fault(text(spec, "call"), !code.empty(), kDataSet); !fault.empty())
    complain("call", std::move(fault));
  for (const NamedValueType& value : value_types_in(text(spec, "gives")).value_or(std::vector<NamedValueType>()))
    if (value.name == kTableNameField)
      complain("gives", "can't have a value of the name " + std::string(kTableNameField) +
                            ", which stands for a sample's own name: give it another one");
}

std::vector<SourceField> fields_of(const SourceSpec& spec) {
  std::vector<SourceField> fields;
  for (const NamedValueType& value : value_types_in(text(spec, "gives")).value_or(std::vector<NamedValueType>()))
    fields.push_back({value.name, raw_values(value.type)});
  fields.push_back({std::string(kTableNameField), {}});
  return fields;
}

}  // namespace

SourceType python() {
  return {.name = "python",
          .help =
              "A data set of your own in Python, which has __len__ and __getitem__: its items are made in processes of "
              "the trainer's user, and the values of an item are the fields. raw takes tensors, with the same dtype "
              "and shape, and bytes takes bytes; "
              "__key__ is the sample's name.",
          .fields = {},
          .parameters = {{.name = "call",
                          .type = ParameterType::kText,
                          .help = "the data set, \"module:name\", or a class or function that makes one when it is "
                                  "called without arguments"},
                         {.name = "code",
                          .type = ParameterType::kText,
                          .help = "digest of the data set's source and content, which the client library fills in: "
                                  "another one makes another run",
                          .fallback = Value(std::string())},
                         {.name = "samples",
                          .type = ParameterType::kInteger,
                          .help = "how many items it has, which the client library fills in",
                          .min = 1,
                          .max = kItemsMax},
                         {.name = "gives",
                          .type = ParameterType::kValueTypes,
                          .help = "what an item has: each value is \"bytes\", or a tensor, whose shape has a -1 in the "
                                  "first place where samples differ in length. The client library fills it in"}},
          .has_uri = false,
          .executor = kUserExecutor,
          .name_field = kTableNameField,
          .check = check_items,
          .own_fields = fields_of};
}

}  // namespace spdld::config::source_types
