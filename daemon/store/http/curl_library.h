// libcurl, set up for the whole process. Sources: https://curl.se/libcurl/c/curl_global_init.html and libcurl-thread.
#pragma once

namespace spdld::store::http {

// Sets libcurl up where nobody has done so yet. Each user of libcurl calls this function before the first other call.
// Any thread. Throws SetupError where libcurl can't be set up. Nothing takes the set-up back: libcurl is used until the
// process ends.
void use_curl();

}  // namespace spdld::store::http
