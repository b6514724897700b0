#include <string>
#include <utility>

#include "config/operation_types.h"
#include "config/operations/user/user_code.h"
#include "config/segments.h"
#include "config/text/call_path.h"

namespace spdld::config::ops {
namespace {

constexpr int kBunchMax = 64, kInFlightMax = 64;  // as proto/crew/ring.h has them
constexpr Called kFunction = {
    .noun = "function", .word = "function", .module = "augment", .example = "blur", .inner = "Blur.apply"};

void check_function(OperationSpec& spec, const Complain& complain) {
  check_code(spec, complain);
  if (spec.integer("batch") > 0 && spec.integer("in_flight") > 0)
    complain("in_flight",
             "is for a function that is given one sample, and batch gives it several: leave one of the two out");
  if (std::string fault = call_fault(spec.text("call"), !spec.text("code").empty(), kFunction); !fault.empty())
    complain("call", std::move(fault));
  if (spec.text("gives").empty())
    complain("gives",
             "is missing: it must be " + allowed(gives_parameter({})) +
                 ". Trainers in Python and spdlctl try may leave it out: they learn it from the first samples");
}

Parameter function_gives() {
  Parameter gives = gives_parameter(
      "what the function returns; a shape with -1 in the first place: samples differ in length. A trainer in Python "
      "learns it from the first samples where it is left out");
  gives.fallback = Value(std::string());
  return gives;
}

}  // namespace

OperationType python() {
  return {
      .name = "python",
      .takes = {SignatureKind::kBytes, SignatureKind::kInteger, SignatureKind::kTensor},
      .gives = {SignatureKind::kBytes, SignatureKind::kTensor},
      .help =
          "Call a function of your own, in processes of the trainer's user. It is given bytes, or a numpy array of "
          "its own: of a picture [height, width, channels], of an integer an int64 array without dimensions.",
      .parameters = {{.name = "call",
                      .type = ParameterType::kText,
                      .help = "the function, \"module:function\", with dots inside of both where they have them"},
                     code_parameter("digest of the function's source and of its modules' versions, which the client "
                                    "library fills in: another one makes another run"),
                     function_gives(),
                     {.name = "batch",
                      .type = ParameterType::kInteger,
                      .help = "how many samples a call is given at the most, as an array [n, ...] or as a list; 0: one "
                              "sample by itself",
                      .fallback = Value(int64_t{0}),
                      .min = 0,
                      .max = kBunchMax,
                      .paces = true},
                     {.name = "in_flight",
                      .type = ParameterType::kInteger,
                      .help = "of an async function: how many of its calls a process has under way at the most; 0: 16",
                      .fallback = Value(int64_t{0}),
                      .min = 0,
                      .max = kInFlightMax,
                      .paces = true}},
      .bind = bind_gives,
      .check = check_function,
      .executor = kUserExecutor};
}

}  // namespace spdld::config::ops
