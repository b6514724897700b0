#include "daemon/store/s3/s3_dialect.h"

#include <array>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/store/s3/error_text.h"
#include "daemon/store/s3/list_page.h"
#include "daemon/store/s3/signature.h"

namespace spdld::store::s3 {
namespace {

// The codes of credentials that others may replace, or that the operator mends.
bool is_about_credentials(std::string_view code) {
  static constexpr std::array<std::string_view, 8> kCodes = {
      "ExpiredToken",          "TokenRefreshRequired", "InvalidToken",         "InvalidAccessKeyId",
      "SignatureDoesNotMatch", "RequestTimeTooSkewed", "InvalidClientTokenId", "RequestExpired"};
  for (const std::string_view known : kCodes)
    if (code == known) return true;
  return false;
}

// The codes of troubles that pass by themselves, beside the statuses that say so.
bool may_pass(std::string_view code) {
  return code == "SlowDown" || code == "RequestTimeout" || code == "InternalError" || code == "ServiceUnavailable" ||
         code == "Throttling" || code == "RequestLimitExceeded";
}

class S3Dialect final : public http::Dialect {
 public:
  S3Dialect(Bucket bucket, std::shared_ptr<CredentialsKeeper> credentials, UnixSeconds now_s)
      : bucket_(std::move(bucket)), credentials_(std::move(credentials)), now_s_(std::move(now_s)) {}

  Status write(const http::Wanted& wanted, http::Outgoing& outgoing) override {
    std::vector<NamedValue> headers;
    if (!wanted.range.empty()) headers.push_back({"Range", wanted.range});
    if (!wanted.if_match.empty()) headers.push_back({"If-Match", wanted.if_match});
    // A checksum is of the whole object.
    if (wanted.range.empty() && !wanted.is_head) headers.push_back({"x-amz-checksum-mode", "ENABLED"});
    outgoing.is_head = wanted.is_head;
    return write_signed(wanted.object, {}, headers, outgoing);
  }

  Status write_list(const List& list, http::Outgoing& outgoing) override {
    std::vector<NamedValue> query = {{"list-type", "2"}};
    if (names_ != Names::kAsTheyAre) query.push_back({"encoding-type", "url"});
    if (!list.cursor.empty())
      query.push_back({"continuation-token", list.cursor});
    else if (!list.after.empty())
      query.push_back({"start-after", list.after});
    if (list.folds) query.push_back({"delimiter", "/"});
    if (!list.prefix.empty()) query.push_back({"prefix", list.prefix});
    return write_signed({}, query, {}, outgoing);
  }

  Status read_list(std::string_view body, List& list) override {
    const std::string what = "the list of " + uri_of(list.prefix);
    Result<ListPage> page = read_list_page(body, what);
    const bool is_poor = !page || page->has_unsure_sign;
    if (names_ == Names::kAsTheyAre && is_poor) names_ = Names::kEncodedForGood;
    if (!page) return std::move(page.error());
    // A list that was asked for before another list found it out is asked for again, too.
    if (names_ != Names::kEncodedForGood && page->has_unsure_plus) {
      names_ = Names::kAsTheyAre;
      return Error{Trouble::kTransient, what + " has a \"+\" that may stand for a blank, and is asked for again."};
    }
    if (names_ == Names::kEncodedForGood && page->has_unsure_sign && !std::exchange(has_asked_again_, true))
      return Error{Trouble::kTransient, what + " has a sign that may stand for another one, and is asked for again."};
    list.entries.reserve(page->objects.size());
    for (const ListedObject& object : page->objects)
      list.entries.push_back({std::string(object.key), {object.size, http::etag_hash(object.etag)}});
    for (const std::string_view prefix : page->prefixes) list.folders.emplace_back(prefix);
    // A store that gives the same page again would be asked for ever.
    if (!page->next_token.empty() && page->next_token == list.cursor)
      return Error{Trouble::kTransient, "the list of " + uri_of(list.prefix) + " does not go on behind a page."};
    list.cursor = std::move(page->next_token);
    return Done{};
  }

  http::Refusal refusal(const http::Head& head, std::string_view body, std::string_view object) override {
    const std::optional<ErrorText> said = read_error_text(body);
    const std::string code = said ? said->code : std::string();
    const std::string what = object.empty() ? "the bucket " + uri_of({}) : uri_of(object);
    http::Refusal refusal = refusal_of(head, what, said ? said->words() : std::string());
    if (is_about_credentials(code)) {
      if (credentials_) credentials_->refresh_now(signed_with_);
      refusal.error = {Trouble::kTransient, what + ": the store refuses the credentials (" + said->words() + ")."};
      refusal.may_pass = true;
    } else if (may_pass(code)) {
      refusal.error.trouble = Trouble::kTransient;
      refusal.may_pass = true;
    } else if (said && !said->region.empty() && said->region != bucket_.region) {
      refusal.error = {Trouble::kUsage, what + " lies in the region " + said->region + ": write region = \"" +
                                            said->region + "\" in its [[data.stores]]."};
      refusal.may_pass = false;
    }
    return refusal;
  }

  std::string uri_of(std::string_view object) const override {
    return ("s3://" + bucket_.name).append(1, '/').append(object);
  }

 private:
  Status write_signed(std::string_view key, std::vector<NamedValue> query, const std::vector<NamedValue>& headers,
                      http::Outgoing& outgoing) {
    outgoing.url = bucket_.address.url(key, query);
    for (const NamedValue& header : headers)
      outgoing.headers.push_back(std::string(header.name).append(": ").append(header.value));
    if (!credentials_) return Done{};
    const auto credentials = credentials_->current();
    if (!credentials) {
      const Error error = credentials_->error();
      return Error{Trouble::kTransient, uri_of(key) + ": " + error.message};
    }
    if (credentials->is_anonymous()) return Done{};
    const int64_t now_s = now_s_ ? now_s_() : std::time(nullptr);
    if (signed_with_ != credentials || !key_ || !key_->fits(now_s)) {
      key_.emplace(*credentials, bucket_.region, "s3", now_s);
      signed_with_ = credentials;
    }
    const std::string path = bucket_.address.path(key);
    sign(*key_,
         {.method = outgoing.is_head ? "HEAD" : "GET",
          .host = bucket_.address.host(),
          .path = path,
          .query = query,
          .headers = headers},
         now_s, outgoing.headers);
    return Done{};
  }

  // How names are asked for in lists. At first they are encoded, which carries every sign; where a "+" is unsure, they
  // are not; and where that gives a name that XML does not carry, they are encoded from then on, as S3 does it.
  enum class Names : uint8_t { kEncoded, kAsTheyAre, kEncodedForGood };
  Names names_ = Names::kEncoded;
  bool has_asked_again_ = false;

  const Bucket bucket_;
  const std::shared_ptr<CredentialsKeeper> credentials_;
  const UnixSeconds now_s_;
  std::optional<SigningKey> key_;
  std::shared_ptr<const Credentials> signed_with_;
};

}  // namespace

std::shared_ptr<http::Dialect> make_s3_dialect(Bucket bucket, std::shared_ptr<CredentialsKeeper> credentials,
                                               UnixSeconds now_s) {
  return std::make_shared<S3Dialect>(std::move(bucket), std::move(credentials), std::move(now_s));
}

}  // namespace spdld::store::s3
