// What web servers send, and what names them: heads of replies, kept pages of remote folders, and uris. The first byte
// chooses the reader.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "config/text/remote_uri.h"
#include "daemon/source/folders/remote_folder.h"
#include "daemon/store/http/head.h"
#include "daemon/store/http/pace.h"

namespace {

using namespace spdld;

void require(bool holds) {
  if (!holds) std::abort();
}

void read_head(std::string_view text) {
  store::http::Head head;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() + (line.size() < text.size() ? 1 : 0));
    head.take_line(line);
    require(head.status >= 0 && head.status <= 999);
    require(head.etag.size() <= 1024 && head.retry_after.size() <= 1024 && head.last_modified.size() <= 1024);
  }
  const store::Identity identity = head.identity();
  if (!head.etag.empty() && !head.etag.starts_with("W/"))
    require(identity.changed == store::http::etag_hash("W/" + head.etag));
  // A date is nearer when a day has passed, and a number of seconds stays what it is, however many digits it has.
  const auto seconds = store::http::retry_after_s(head.retry_after, 1'000'000);
  const auto a_day_later = store::http::retry_after_s(head.retry_after, 1'086'400);
  require(seconds.has_value() == a_day_later.has_value());
  if (seconds) require(*a_day_later == *seconds || *a_day_later == *seconds - std::min<uint64_t>(*seconds, 86'400));
}

void read_pages(std::string_view payload) {
  const source::RemotePages pages = source::RemotePages::of_payload(payload);
  if (pages.pages.empty()) return;
  const std::string written = pages.payload();
  const source::RemotePages again = source::RemotePages::of_payload(written);
  require(again.digits() == pages.digits() && again.payload() == written);
}

void read_uri(std::string_view text) {
  const std::string_view uri = text.substr(0, text.find('\n'));
  const std::string_view other = text.substr(std::min(text.size(), uri.size() + 1));
  if (!config::is_remote(uri)) return;
  const std::string fault = config::remote_uri_fault(uri);
  require(fault.size() < 300 && fault.find('\n') == std::string::npos);
  if (!fault.empty()) return;
  const config::RemoteUri parts = config::split_remote_uri(uri);
  const std::string whole = std::string(parts.scheme).append("://").append(parts.authority);
  require(uri == whole || uri == whole + '/' + std::string(parts.object));
  require(config::lies_below(uri, whole) && config::lies_below(uri, uri));
  require(parts.scheme == "s3" || (parts.object.find("..%2f") != 0 && parts.object.find("/../") == std::string::npos));
  if (config::lies_below(uri, other))
    require(uri.size() + 1 >= other.substr(0, other.find_last_not_of('/') + 1).size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      read_head(text);
      break;
    case 1:
      read_pages(text);
      break;
    default:
      read_uri(text);
  }
  return 0;
}
