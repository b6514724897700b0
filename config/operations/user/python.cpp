#include <string>
#include <utility>

#include "config/operation_types.h"
#include "config/operations/user/user_code.h"
#include "config/segments.h"
#include "config/text/call_path.h"

namespace spdld::config::ops {
namespace {

constexpr Called kFunction = {
    .noun = "function", .word = "function", .module = "augment", .example = "blur", .inner = "Blur.apply"};

void check_function(OperationSpec& spec, const Complain& complain) {
  check_code(spec, complain);
  if (std::string fault = call_fault(spec.text("call"), !spec.text("code").empty(), kFunction); !fault.empty())
    complain("call", std::move(fault));
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
                     gives_parameter("what the function returns; a shape with -1 in the first place: samples differ in "
                                     "length")},
      .bind = bind_gives,
      .check = check_function,
      .executor = kUserExecutor};
}

}  // namespace spdld::config::ops
