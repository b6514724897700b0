// How a kind of store is asked, and how its refusals are understood: plain HTTP, or S3. Network thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/store/http/head.h"
#include "daemon/store/store.h"

namespace spdld::store::http {

// One request as it goes out.
struct Outgoing {
  std::string url;
  std::vector<std::string> headers;  // "Range: bytes=0-9"
  bool is_head = false;              // no body is wanted
};

// The part of an object that is wanted.
struct Wanted {
  std::string_view object;
  std::string range;     // "bytes=0-9"; empty: the whole object
  std::string if_match;  // an ETag as it was sent; empty: any
  bool is_head = false;
};

// A reply that is no success.
struct Refusal {
  Error error;
  bool may_pass = false;  // the same request may succeed later
};

class Dialect {
 public:
  virtual ~Dialect() = default;

  // kTransient: it can't be written now, because there are no credentials, say.
  virtual Status write(const Wanted& wanted, Outgoing& outgoing) = 0;
  virtual Status write_list(const List& list, Outgoing& outgoing) = 0;
  // Takes a page into `list`: its entries, folders and cursor.
  virtual Status read_list(std::string_view body, List& list) = 0;
  // `body`: its beginning. `object`: empty where a list was asked for.
  virtual Refusal refusal(const Head& head, std::string_view body, std::string_view object) = 0;
  virtual std::string uri_of(std::string_view object) const = 0;
};

// The refusal that a status means by itself. `what`: the object; `words`: what the server says of it, or empty.
Refusal refusal_of(const Head& head, const std::string& what, const std::string& words);

}  // namespace spdld::store::http
