// One page of a bucket's listing, as ListObjectsV2 gives it. Source:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"

namespace spdld::store::s3 {

constexpr size_t kListPageBytesMax = 16 << 20;  // a thousand keys of 1,024 bytes, all encoded, take less than 4 MiB
constexpr size_t kKeyBytesMax = 4096;           // S3's own limit is 1,024

struct ListedObject {
  std::string_view key;    // any bytes; not empty
  std::string_view etag;   // with its quotation marks, as If-Match wants it; empty: the store gave none
  uint64_t size = 0;       // in bytes
  int64_t modified_s = 0;  // Unix seconds; 0: the store gave none
};

// The views lie in the page's own text, and stay valid when the page is moved.
struct ListPage {
  std::vector<ListedObject> objects;       // in the store's order
  std::vector<std::string_view> prefixes;  // common prefixes, where a delimiter was asked for
  std::string next_token;                  // asks for the next page; empty: this page is the last
  // A name has a "+" that may stand for itself or for a blank: the names are encoded, and nothing in the page tells
  // how.
  bool has_unsure_plus = false;
  bool has_unsure_sign = false;  // a name of a page that is not encoded has a sign that XML does not carry well
  std::unique_ptr<char[]> text;
};

// Reads a page. Keys and prefixes are decoded where the page says that they are encoded (encoding-type=url), wherever
// in the page it says so. S3 writes a blank as "+" and a "+" as %2B; other stores write a blank as %20, and leave a "+"
// as it is. A page with %20 is of the latter. Errors begin with `what` ("the listing of s3://bucket/prefix") and have a
// whole sentence: kTransient (damaged, cut off, or no listing), kLimit.
Result<ListPage> read_list_page(std::string_view xml, const std::string& what);

}  // namespace spdld::store::s3
