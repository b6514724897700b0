// The documents in which services give credentials. Pure functions; any thread. No error holds a part of a document but
// for its status words: a document holds secrets.
// Sources: https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html,
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-metadata-security-credentials.html,
// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/result.h"
#include "daemon/store/credentials/credentials.h"

namespace spdld::store {

// JSON of the container and the instance service: {"AccessKeyId": ..., "SecretAccessKey": ..., "Token": ...,
// "Expiration": "2013-05-24T00:00:00Z"}, and {"Code": "Success"} where there is a Code. `where` begins the sentence of
// an error. A damaged document is kTransient: the service may be asked again.
Result<Credentials> read_credentials_json(std::string_view text, const std::string& where);

// XML of STS: <Credentials> with the elements AccessKeyId, SecretAccessKey, SessionToken and Expiration.
Result<Credentials> read_credentials_xml(std::string_view text, const std::string& where);

// The text in the first element of this name, with its references replaced: a reader for documents of a few plain
// elements, whose names have no prefix. Nothing where the element is missing, holds other elements, or holds a
// reference that XML 1.0 does not predefine.
std::optional<std::string> element_text(std::string_view xml, std::string_view name);

// The Code and the Message of an STS error, in printable characters: "AccessDenied (Not authorized ...)". A message
// that holds `secret` is left out. Empty where the text is no such document.
std::string sts_error_words(std::string_view xml, std::string_view secret);

}  // namespace spdld::store
