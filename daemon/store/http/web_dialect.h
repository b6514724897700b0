// A web server's files: GET and HEAD of uris (RFC 9110). It has no lists.
#pragma once

#include <memory>
#include <string>

#include "daemon/store/http/dialect.h"

namespace spdld::store::http {

// `origin`: "https://data.example.org"; an object's name is the rest of its uri, behind the '/', as it was written.
std::shared_ptr<Dialect> make_web_dialect(std::string origin);

}  // namespace spdld::store::http
