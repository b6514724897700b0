#include "daemon/store/s3/signature.h"

#include <openssl/evp.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <utility>

#include "daemon/base/result.h"
#include "daemon/store/s3/encoding.h"
#include "proto/hex.h"

namespace spdld::store::s3 {
namespace {

using Hash = std::array<uint8_t, 32>;
constexpr int64_t kDayS = 86400;
constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256", kTerminator = "aws4_request";

[[noreturn]] void fail() { throw SetupError(Trouble::kInternal, "libcrypto can't compute SHA-256."); }

struct FreeDigest {
  void operator()(EVP_MD* digest) const { EVP_MD_free(digest); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// Looked up once: libcrypto would search its providers for each hash.
const EVP_MD* sha256_digest() {
  static const std::unique_ptr<EVP_MD, FreeDigest> digest(EVP_MD_fetch(nullptr, "SHA256", nullptr));
  if (!digest) fail();
  return digest.get();
}

// Hashes parts one after another. One thread.
class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new()) {
    if (!context_) throw std::bad_alloc();
  }
  void begin() {
    if (EVP_DigestInit_ex2(context_.get(), sha256_digest(), nullptr) != 1) fail();
  }
  void add(const void* bytes, size_t count) {
    if (EVP_DigestUpdate(context_.get(), bytes, count) != 1) fail();
  }
  Hash end() {
    Hash hash;
    if (EVP_DigestFinal_ex(context_.get(), hash.data(), nullptr) != 1) fail();
    return hash;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, FreeDigest> context_;
};

Sha256& own_sha256() {
  thread_local Sha256 sha256;
  return sha256;
}

Hash hash_of(std::string_view text) {
  Sha256& sha256 = own_sha256();
  sha256.begin();
  sha256.add(text.data(), text.size());
  return sha256.end();
}

// HMAC of RFC 2104 over a kept context: HMAC() of libcrypto 3.0 sets one up anew for each call.
Hash hmac(const uint8_t* key, size_t key_bytes, std::string_view text) {
  constexpr size_t kBlock = 64;
  std::array<uint8_t, kBlock> block{};
  Hash short_key;
  if (key_bytes > kBlock) {
    short_key = hash_of({reinterpret_cast<const char*>(key), key_bytes});
    key = short_key.data();
    key_bytes = short_key.size();
  }
  std::copy(key, key + key_bytes, block.begin());
  Sha256& sha256 = own_sha256();
  for (uint8_t& byte : block) byte ^= 0x36;
  sha256.begin();
  sha256.add(block.data(), kBlock);
  sha256.add(text.data(), text.size());
  const Hash inner = sha256.end();
  for (uint8_t& byte : block) byte ^= 0x36 ^ 0x5C;
  sha256.begin();
  sha256.add(block.data(), kBlock);
  sha256.add(inner.data(), inner.size());
  return sha256.end();
}

Hash hmac(const Hash& key, std::string_view text) { return hmac(key.data(), key.size(), text); }

void append_hex(std::string& out, const Hash& hash) {
  for (const uint8_t byte : hash) spdld::append_hex(out, byte);
}

int64_t day_of(int64_t time_s) { return time_s >= 0 ? time_s / kDayS : -((-time_s + kDayS - 1) / kDayS); }

void append_number(std::string& out, int64_t number, int digits) {
  const size_t end = out.size() + static_cast<size_t>(digits);
  out.resize(end);
  for (size_t i = end; digits-- > 0; number /= 10) out[--i] = static_cast<char>('0' + number % 10);
}

void append_date(std::string& out, int64_t day) {
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  append_number(out, static_cast<int>(date.year()), 4);
  append_number(out, static_cast<unsigned>(date.month()), 2);
  append_number(out, static_cast<unsigned>(date.day()), 2);
}

// "20130524T000000Z"
std::string time_text(int64_t time_s) {
  std::string text;
  append_date(text, day_of(time_s));
  const int64_t second = time_s - day_of(time_s) * kDayS;
  text += 'T';
  append_number(text, second / 3600, 2);
  append_number(text, second / 60 % 60, 2);
  append_number(text, second % 60, 2);
  return text += 'Z';
}

// Parameters are sorted by their encoded names, then by their encoded values.
void append_query(std::string& out, std::span<const NamedValue> query) {
  if (query.empty()) return;
  std::vector<std::pair<std::string, std::string>> encoded(query.size());
  for (size_t i = 0; i < query.size(); ++i) {
    append_encoded(encoded[i].first, query[i].name);
    append_encoded(encoded[i].second, query[i].value);
  }
  std::sort(encoded.begin(), encoded.end());
  for (bool is_first = true; const auto& [name, value] : encoded) {
    if (!std::exchange(is_first, false)) out += '&';
    ((out += name) += '=') += value;
  }
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Without blanks around the value, and with one blank for several inside.
void append_value(std::string& out, std::string_view value) {
  bool had_blank = false;
  const size_t begin = out.size();
  for (const char c : value) {
    const bool is_blank = c == ' ' || c == '\t';
    if (!is_blank) {
      if (had_blank && out.size() > begin) out += ' ';
      out += c;
    }
    had_blank = is_blank;
  }
}

bool is_less(const NamedValue& a, const NamedValue& b) {
  return std::lexicographical_compare(a.name.begin(), a.name.end(), b.name.begin(), b.name.end(),
                                      [](char c, char d) { return lower(c) < lower(d); });
}

}  // namespace

SigningKey::SigningKey(const Credentials& credentials, std::string_view region, std::string_view service,
                       int64_t time_s)
    : day_(day_of(time_s)), access_key_(credentials.access_key), session_token_(credentials.session_token) {
  append_date(scope_, day_);
  const std::string secret = "AWS4" + credentials.secret_key;
  Hash key = hmac(reinterpret_cast<const uint8_t*>(secret.data()), secret.size(), scope_);
  for (const std::string_view part : {region, service, kTerminator}) {
    key = hmac(key, part);
    scope_.append("/").append(part);
  }
  bytes_ = key;
}

bool SigningKey::fits(int64_t time_s) const { return day_of(time_s) == day_; }

void sign(const SigningKey& key, const UnsignedRequest& request, int64_t time_s, std::vector<std::string>& lines) {
  const std::string time = time_text(time_s);
  std::vector<NamedValue> headers(request.headers.begin(), request.headers.end());
  headers.insert(headers.end(),
                 {{"host", request.host}, {"x-amz-content-sha256", request.payload_hash}, {"x-amz-date", time}});
  if (!key.session_token_.empty()) headers.push_back({"x-amz-security-token", key.session_token_});
  std::stable_sort(headers.begin(), headers.end(), is_less);

  std::string names, canonical;
  canonical.reserve(512 + request.path.size() + key.session_token_.size());
  canonical.append(request.method) += '\n';
  append_encoded_path(canonical, request.path);
  canonical += '\n';
  append_query(canonical, request.query);
  canonical += '\n';
  for (const NamedValue& header : headers) {
    const size_t begin = canonical.size();
    for (const char c : header.name) canonical += lower(c);
    names.append(names.empty() ? "" : ";").append(canonical, begin);
    canonical += ':';
    append_value(canonical, header.value);
    canonical += '\n';
  }
  ((canonical += '\n') += names) += '\n';
  canonical += request.payload_hash;

  std::string text(kAlgorithm);
  ((((text += '\n') += time) += '\n') += key.scope_) += '\n';
  append_hex(text, hash_of(canonical));
  std::string authorization = "Authorization: ";
  ((authorization += kAlgorithm) += " Credential=") += key.access_key_;
  ((authorization += '/') += key.scope_) += ",SignedHeaders=";
  (authorization += names) += ",Signature=";
  append_hex(authorization, hmac(key.bytes_, text));
  lines.push_back("x-amz-date: " + time);
  lines.push_back(std::string("x-amz-content-sha256: ").append(request.payload_hash));
  if (!key.session_token_.empty()) lines.push_back("x-amz-security-token: " + key.session_token_);
  lines.push_back(std::move(authorization));
}

}  // namespace spdld::store::s3
