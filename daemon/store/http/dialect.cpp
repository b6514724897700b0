#include "daemon/store/http/dialect.h"

namespace spdld::store::http {

Refusal refusal_of(const Head& head, const std::string& what, const std::string& words) {
  const std::string said = " (" + std::to_string(head.status) + (words.empty() ? "" : ", " + words) + ")";
  const auto refused = [&](Trouble trouble, const std::string& why, bool may_pass = false) {
    return Refusal{{trouble, what + why + said + "."}, may_pass};
  };
  switch (head.status) {
    case 404:
    case 410:
      return refused(Trouble::kContent, " does not exist");
    case 401:
      return refused(Trouble::kDenied, ": the server wants other credentials");
    case 403:
      return refused(Trouble::kContent, " may not be read");
    case 412:
      return refused(Trouble::kContent, " is another one than when it was listed: was it replaced?");
    case 416:
      return refused(Trouble::kContent, " is shorter than when it was listed: was it replaced?");
    case 408:
    case 425:
    case 429:
      return refused(Trouble::kTransient, ": the server asks to wait", true);
    default:
      break;
  }
  if (head.status >= 300 && head.status < 400)
    return refused(Trouble::kDenied, ": the server sends elsewhere, and redirects are not allowed for this store");
  if (head.status >= 500) return refused(Trouble::kTransient, ": the server has failed", true);
  return refused(Trouble::kContent, ": the server refuses the request");
}

}  // namespace spdld::store::http
