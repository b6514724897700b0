#include "daemon/store/http/transfer.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>

#include "daemon/store/http/ca_file.h"
#include "daemon/store/http/cloud_address.h"
#include "daemon/store/http/curl_library.h"

namespace spdld::store::http {
namespace {

constexpr long kReceiveBytes = 512 << 10;  // of one call of take_body at most
constexpr long kRedirectsMax = 5;

template <typename Value>
void set(CURL* easy, CURLoption option, Value value) {
  if (curl_easy_setopt(easy, option, value) != CURLE_OK) throw std::bad_alloc();  // the only way these can fail
}

}  // namespace

bool is_cloud_address(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof(in));
    Ipv4 bytes{};
    std::memcpy(bytes.data(), &in.sin_addr, bytes.size());
    return is_cloud_address(bytes);
  }
  if (address.sa_family != AF_INET6) return false;
  sockaddr_in6 in{};
  std::memcpy(&in, &address, sizeof(in));
  Ipv6 bytes{};
  std::memcpy(bytes.data(), in.sin6_addr.s6_addr, bytes.size());
  return is_cloud_address(bytes);
}

Transfer::Transfer() {
  use_curl();
  easy_.reset(curl_easy_init());
  if (!easy_) throw std::bad_alloc();
  CURL* easy = easy_.get();
  set(easy, CURLOPT_PRIVATE, this);
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_ERRORBUFFER, details_.data());
  set(easy, CURLOPT_HEADERFUNCTION, &Transfer::take_header);
  set(easy, CURLOPT_HEADERDATA, this);
  set(easy, CURLOPT_WRITEFUNCTION, &Transfer::take_body);
  set(easy, CURLOPT_WRITEDATA, this);
  set(easy, CURLOPT_OPENSOCKETFUNCTION, &Transfer::open_socket);
  set(easy, CURLOPT_OPENSOCKETDATA, this);
  set(easy, CURLOPT_BUFFERSIZE, kReceiveBytes);
  set(easy, CURLOPT_TCP_NODELAY, 1L);
  set(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_USERAGENT, "spdld");
  set(easy, CURLOPT_MAXREDIRS, kRedirectsMax);
  set(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(easy, CURLOPT_PATH_AS_IS, 1L);  // S3's names may have ".." in them; a web server's uris were checked
}

void Transfer::prepare(const Outgoing& outgoing, const Settings& settings, User& user) {
  user_ = &user;
  reach_ = settings.reach;
  head_ = {};
  is_decided_ = refused_address_ = false;
  take_ = Take::kText;
  body_bytes_ = 0;
  text_.clear();
  details_[0] = '\0';
  curl_slist* list = nullptr;
  const auto append = [&list](const char* header) {
    curl_slist* longer = curl_slist_append(list, header);
    if (longer == nullptr) {
      curl_slist_free_all(list);
      throw std::bad_alloc();
    }
    list = longer;
  };
  append("Accept-Encoding: identity");  // without it a server may compress what it sends
  for (const std::string& header : outgoing.headers) append(header.c_str());
  CURL* easy = easy_.get();
  set(easy, CURLOPT_HTTPHEADER, list);
  headers_.reset(list);
  set(easy, CURLOPT_URL, outgoing.url.c_str());
  set(easy, CURLOPT_HTTPGET, 1L);
  set(easy, CURLOPT_NOBODY, outgoing.is_head ? 1L : 0L);
  const Limits& limits = settings.limits;
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits.connect_ms_max));
  set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(limits.attempt_ms_max));
  set(easy, CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(limits.floor_bytes_per_s));
  set(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>((limits.floor_ms + 999) / 1000));
  set(easy, CURLOPT_FOLLOWLOCATION, settings.reach.follows_redirects ? 1L : 0L);
  // An address of TLS is not left for one without.
  set(easy, CURLOPT_REDIR_PROTOCOLS_STR, outgoing.url.starts_with("https:") ? "https" : "http,https");
  // A proxy of the environment would hide the address that is_cloud_address() looks at.
  set(easy, CURLOPT_PROXY, settings.proxy.c_str());
  const std::string& ca_file = settings.ca_file.empty() ? system_ca_file() : settings.ca_file;
  if (!ca_file.empty()) set(easy, CURLOPT_CAINFO, ca_file.c_str());
  has_ca_file_ = !ca_file.empty();
}

Transfer& Transfer::of(CURL* handle) {
  char* self = nullptr;
  curl_easy_getinfo(handle, CURLINFO_PRIVATE, &self);
  return *reinterpret_cast<Transfer*>(self);
}

std::string Transfer::words(CURLcode code) const {
  if (refused_address_)
    return "its address is link-local, or one where clouds serve credentials, which the operator has not allowed";
  std::string words = details_[0] != '\0' ? details_.data() : curl_easy_strerror(code);
  if (!has_ca_file_ && is_about_authorities(code)) words += kNoCaFile;
  return words;
}

bool Transfer::is_new_connection() const {
  long made = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_NUM_CONNECTS, &made);
  return made > 0;
}

size_t Transfer::take_header(char* bytes, size_t, size_t count, void* self) try {
  static_cast<Transfer*>(self)->head_.take_line({bytes, count});
  return count;
} catch (const std::exception&) {
  return 0;
}

// Asks the user once what to do with the reply. False: it is to end.
bool Transfer::decide() {
  if (!is_decided_) {
    is_decided_ = true;
    take_ = user_->on_head(*this);
  }
  return take_ != Take::kStop;
}

// No exception may pass through libcurl.
size_t Transfer::take_body(char* bytes, size_t, size_t count, void* self) try {
  auto& transfer = *static_cast<Transfer*>(self);
  if (!transfer.decide()) return 0;
  transfer.body_bytes_ += count;
  if (transfer.take_ == Take::kText) {
    transfer.text_.append(bytes, std::min(count, kTextMax - transfer.text_.size()));
    return count;
  }
  const auto* first = reinterpret_cast<const uint8_t*>(bytes);
  return transfer.user_->on_body(transfer, {first, count}) ? count : 0;
} catch (const std::exception&) {
  return 0;
}

curl_socket_t Transfer::open_socket(void* self, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(self);
  if (!transfer.reach_.link_local && is_cloud_address(address->addr)) {
    transfer.refused_address_ = true;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

}  // namespace spdld::store::http
