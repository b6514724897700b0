// The certificates of the authorities by which servers are checked. Where they lie differs from one distribution to the
// next, and libcurl knows the place of the distribution alone that it was built on. Any thread.
#pragma once

#include <curl/curl.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace spdld::store::http {

using Variable = std::function<const char*(const char* name)>;  // null: it is not set

// The file that SSL_CERT_FILE or CURL_CA_BUNDLE names, whether it is there or not, else the first of `usual` that can
// be read; empty: there is none.
std::string find_ca_file(const Variable& variable, const std::vector<std::string>& usual);
// Of this process's environment and the usual places of Linux distributions, as first looked for.
const std::string& system_ca_file();

// Whether an error of libcurl may come from missing certificates, and the words that are added to it then.
bool is_about_authorities(CURLcode code);
inline constexpr std::string_view kNoCaFile =
    " (no file of certificates was found: name one in SSL_CERT_FILE, or in ca_file of its [[data.stores]])";

}  // namespace spdld::store::http
