// The checks of `view` in [[output]]; config/views.h has the rules.
#include "config/checks/check.h"
#include "config/views.h"

namespace spdld::config {

std::string check_view_name(const TableReader& reader) {
  std::string view = reader.text("view");
  if (reader.find("view") != nullptr && !reader.complaints().has(reader.key("view")) && !is_word(view, "_.-"))
    reader.complain("view", "must be 1 to 64 letters, digits, \"_\", \".\" or \"-\", not " + in_quotes(view));
  return view;
}

void check_views(const std::vector<OutputSpec>& outputs, const Node& list, Complaints& complaints) {
  for (const ViewFault& fault : views_of(outputs).faults) {
    const OutputSpec& output = outputs[fault.output];
    const std::string key = "output[" + std::to_string(fault.output) + "].";
    if (fault.op) {
      complaints.add(output.ops[*fault.op].where.line, key + "ops[" + std::to_string(*fault.op) + "]", fault.text);
    } else {
      complaints.add((*list.list())[fault.output].find("view")->line, key + "view", fault.text);
    }
  }
}

}  // namespace spdld::config
