#include "daemon/store/http/curl_library.h"

#include <curl/curl.h>

#include <string>

#include "daemon/base/result.h"

namespace spdld::store::http {

void use_curl() {
  // The function-local static makes other threads wait for the first of them.
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (code != CURLE_OK)
    throw SetupError(Trouble::kInternal, std::string("libcurl can't be set up: ") + curl_easy_strerror(code) + ".");
}

}  // namespace spdld::store::http
