#include "daemon/store/http/ask.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>
#include <new>
#include <system_error>

#include "config/text/words.h"
#include "daemon/store/http/ca_file.h"
#include "daemon/store/http/curl_library.h"
#include "daemon/store/http/url.h"

namespace spdld::store::http {
namespace {

constexpr size_t kHeadBytesMax = 64 << 10;  // libcurl of Debian 12 bounds a line of the head, but not their number
constexpr size_t kShownBytesMax = 200;      // of a URL

struct FreeTransfer {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Handle = std::unique_ptr<CURL, FreeTransfer>;
using HeaderList = std::unique_ptr<curl_slist, FreeTransfer>;

// The state that the callbacks write. They are called on the thread that asks.
struct Exchange {
  const Question& question;
  Reply reply;
  size_t head_bytes = 0;
  bool is_too_long = false;
};

size_t take_head(char*, size_t, size_t bytes, void* to) {
  auto& exchange = *static_cast<Exchange*>(to);
  exchange.head_bytes += bytes;
  exchange.is_too_long |= exchange.head_bytes > kHeadBytesMax;
  return exchange.is_too_long ? 0 : bytes;
}

// libcurl is written in C: no exception may pass through it.
size_t take_body(char* bytes, size_t, size_t count, void* to) noexcept {
  auto& exchange = *static_cast<Exchange*>(to);
  std::string& body = exchange.reply.body;
  exchange.is_too_long |= count > exchange.question.body_bytes_max - body.size();
  if (exchange.is_too_long) return 0;
  try {
    body.append(bytes, count);
  } catch (const std::bad_alloc&) {
    return 0;
  }
  return count;
}

int is_stopped(void* from, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const Exchange*>(from)->question.stop.stop_requested() ? 1 : 0;
}

bool has_control(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7F; });
}

// False where there is no memory.
bool add_header(HeaderList& list, const char* line) {
  curl_slist* const longer = curl_slist_append(list.get(), line);
  if (longer == nullptr) return false;
  (void)list.release();
  list.reset(longer);
  return true;
}

std::string shown(const Url& url) {
  return config::printable(url.scheme + "://" + host_header(url) + url.path, kShownBytesMax);
}

Error error_of(CURLcode code, CURL* handle, const Exchange& exchange, const Url& url) {
  const Question& question = exchange.question;
  const std::string what = shown(url);
  if (exchange.is_too_long) {
    return {Trouble::kLimit, what + " sends a reply of more than " + std::to_string(question.body_bytes_max) +
                                 " bytes, or with too long a head: it is not the expected service."};
  }
  switch (code) {
    case CURLE_ABORTED_BY_CALLBACK:
      return {Trouble::kStopping, what + " was not waited for: the daemon stops."};
    case CURLE_OPERATION_TIMEDOUT:
      return {Trouble::kTransient, what + " gives no reply: the connection may take " +
                                       std::to_string(question.connect_ms) + " ms and the reply " +
                                       std::to_string(question.total_ms) + " ms."};
    case CURLE_OUT_OF_MEMORY:
      return {Trouble::kMemory, "there is no memory to ask " + what + "."};
    default:
      break;
  }
  long error_number = 0;
  curl_easy_getinfo(handle, CURLINFO_OS_ERRNO, &error_number);
  // libcurl's longer text may repeat bytes of the reply. The text by the code alone never does.
  std::string why = curl_easy_strerror(code);
  if (error_number != 0) why += " (" + std::generic_category().message(static_cast<int>(error_number)) + ")";
  const bool is_untrusted = is_about_authorities(code);
  if (is_untrusted && system_ca_file().empty()) why += kNoCaFile;
  return {is_untrusted ? Trouble::kDenied : Trouble::kTransient, what + " can't be asked: " + why + "."};
}

void set_method(CURL* handle, const Question& question) {
  if (question.method == "GET") {
    curl_easy_setopt(handle, CURLOPT_HTTPGET, 1L);
  } else if (question.method == "HEAD") {
    curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
  } else {
    // A PUT without a body needs its length all the same, which POST with another name brings.
    curl_easy_setopt(handle, CURLOPT_POST, 1L);
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, question.method.c_str());
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(question.body.size()));
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, question.body.c_str());
  }
}

void set_limits(CURL* handle, const Question& question, const Url& url) {
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);  // a stop does not wait for a name that is looked up
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  if (!system_ca_file().empty()) curl_easy_setopt(handle, CURLOPT_CAINFO, system_ca_file().c_str());
  if (is_at_hand(url.host)) curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
  // A time of 0 would be no limit.
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::max(question.connect_ms, 1)));
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(std::max(question.total_ms, 1)));
}

}  // namespace

Result<Reply> ask(const Question& question) {
  use_curl();
  const auto url = read_url(question.url, "the address of a service");
  if (!url) return url.error();
  HeaderList headers;
  // libcurl would wait a second for "100 Continue" before it sends a body.
  bool has_memory = add_header(headers, "Expect:");
  for (const std::string& line : question.headers) {
    if (has_control(line) || line.find(':') == std::string::npos)
      return Error{Trouble::kUsage,
                   "a header for " + shown(*url) + " is no header: it has a control character or no colon."};
    has_memory = has_memory && add_header(headers, line.c_str());
  }
  const Handle handle(curl_easy_init());
  if (!handle || !has_memory) return Error{Trouble::kMemory, "there is no memory to ask " + shown(*url) + "."};
  Exchange exchange{question, {}};
  set_method(handle.get(), question);
  set_limits(handle.get(), question, *url);
  curl_easy_setopt(handle.get(), CURLOPT_URL, question.url.c_str());
  curl_easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle.get(), CURLOPT_HEADERFUNCTION, take_head);
  curl_easy_setopt(handle.get(), CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(handle.get(), CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle.get(), CURLOPT_XFERINFOFUNCTION, is_stopped);
  curl_easy_setopt(handle.get(), CURLOPT_XFERINFODATA, &exchange);
  const CURLcode code = curl_easy_perform(handle.get());
  if (code != CURLE_OK) return error_of(code, handle.get(), exchange, *url);
  long status = 0;
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  exchange.reply.status = static_cast<int>(status);
  return std::move(exchange.reply);
}

}  // namespace spdld::store::http
