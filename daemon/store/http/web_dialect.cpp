#include "daemon/store/http/web_dialect.h"

#include <utility>

namespace spdld::store::http {
namespace {

class WebDialect final : public Dialect {
 public:
  explicit WebDialect(std::string origin) : origin_(std::move(origin)) {}

  Status write(const Wanted& wanted, Outgoing& outgoing) override {
    outgoing.url = uri_of(wanted.object);
    outgoing.is_head = wanted.is_head;
    if (!wanted.range.empty()) outgoing.headers.push_back("Range: " + wanted.range);
    if (!wanted.if_match.empty()) outgoing.headers.push_back("If-Match: " + wanted.if_match);
    return Done{};
  }
  Status write_list(const List& list, Outgoing&) override { return no_list(list); }
  Status read_list(std::string_view, List& list) override { return no_list(list); }
  Refusal refusal(const Head& head, std::string_view, std::string_view object) override {
    return refusal_of(head, uri_of(object), {});
  }
  std::string uri_of(std::string_view object) const override {
    return std::string(origin_).append(1, '/').append(object);
  }

 private:
  Status no_list(const List& list) const {
    return Error{Trouble::kUnsupported, "a web server has no list of its files: name the files below " +
                                            uri_of(list.prefix) + " one by one, or with braces ({000..127})."};
  }

  const std::string origin_;
};

}  // namespace

std::shared_ptr<Dialect> make_web_dialect(std::string origin) {
  return std::make_shared<WebDialect>(std::move(origin));
}

}  // namespace spdld::store::http
