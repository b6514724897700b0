#include "daemon/store/remote/remote_stores.h"

#include <algorithm>
#include <utility>

#include "config/text/remote_uri.h"
#include "daemon/store/credentials/chain.h"
#include "daemon/store/http/ask.h"
#include "daemon/store/http/web_dialect.h"
#include "daemon/store/s3/s3_dialect.h"

namespace spdld::store::remote {
namespace {

http::Transfer::Settings transfer_settings(const config::StoreSettings& settings) {
  return {
      settings.limits, {settings.follows_redirects, settings.link_local}, settings.ca_file.string(), settings.proxy};
}

// The bucket with its endpoint, or the server: what one store is made for.
std::string place_of(const std::string& uri) {
  const config::RemoteUri parts = config::split_remote_uri(uri);
  return std::string(parts.scheme).append("://").append(parts.authority);
}

class AllowedStores final : public Stores {
 public:
  AllowedStores(RemoteStores& all, std::vector<std::string> within, bool is_bound)
      : all_(all), within_(std::move(within)), is_bound_(is_bound) {}

  Found find(const std::string& uri) const override {
    if (is_bound_ && !config::lies_below_any(uri, within_))
      throw SetupError(Trouble::kDenied, uri + " lies in no store that the operator allows (data.stores).");
    return all_.find(uri);
  }

 private:
  RemoteStores& all_;
  const std::vector<std::string> within_;
  const bool is_bound_;
};

}  // namespace

RemoteStores::RemoteStores(std::vector<config::StoreSettings> settings, Environment environment)
    : environment_(std::move(environment)), settings_(std::move(settings)) {}

RemoteStores::~RemoteStores() = default;

void RemoteStores::set_settings(std::vector<config::StoreSettings> settings) {
  const std::scoped_lock lock(mutex_);
  if (settings_ == settings) return;
  settings_ = std::move(settings);
  stores_.clear();
  budgets_.clear();
}

std::shared_ptr<const Stores> RemoteStores::allow(std::vector<std::string> within, bool is_bound) {
  return std::make_shared<AllowedStores>(*this, std::move(within), is_bound);
}

// Of the settings that fit, those with the longest uri.
const config::StoreSettings& RemoteStores::settings_of(const std::string& uri) const {
  static const config::StoreSettings kDefaults;
  const config::StoreSettings* best = &kDefaults;
  for (const config::StoreSettings& settings : settings_)
    if (config::lies_below(uri, settings.uri) && settings.uri.size() >= best->uri.size()) best = &settings;
  return *best;
}

Stores::Found RemoteStores::find(const std::string& uri) {
  const config::RemoteUri parts = config::split_remote_uri(uri);
  std::shared_ptr<http::NetworkStore> store;
  std::shared_ptr<CredentialsKeeper> keeper;
  {
    const std::scoped_lock lock(mutex_);
    const config::StoreSettings& settings = settings_of(uri);
    auto& kept = stores_[settings.uri + "\n" + place_of(uri)];
    store = kept.lock();
    if (!store) kept = store = make(settings, uri);
    if (parts.scheme == "s3" && settings.credentials != "anonymous") keeper = credentials(settings.credentials);
  }
  // Without the lock: the first credentials may come from a service.
  if (keeper)
    if (Status first = keeper->wait_for_first({}); !first)
      throw SetupError(first.error().trouble, uri + ": " + first.error().message);
  return {std::move(store), std::string(parts.object)};
}

std::shared_ptr<http::NetworkStore> RemoteStores::make(const config::StoreSettings& settings, const std::string& uri) {
  const std::string place = place_of(uri);
  if (place.starts_with("s3://")) return make_s3(settings, uri);
  auto endpoint = std::make_shared<http::Endpoint>(place, transfer_settings(settings), http::make_web_dialect(place),
                                                   budget(settings), server(place));
  return std::make_shared<http::NetworkStore>(network_, std::move(endpoint));
}

std::shared_ptr<http::NetworkStore> RemoteStores::make_s3(const config::StoreSettings& settings,
                                                          const std::string& uri) {
  const auto first_of = [this](std::string given, std::initializer_list<const char*> names) {
    for (const char* const name : names)
      if (given.empty()) given = environment_(name).value_or("");
    return given;
  };
  s3::Place place;
  place.bucket = config::split_remote_uri(uri).authority;
  place.endpoint = first_of(settings.endpoint, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  place.region = first_of(settings.region, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (place.region.empty()) place.region = "us-east-1";
  place.path_style = settings.path_style;
  // The names of a service's buckets lead to the same machines.
  auto service = server(place.endpoint.empty() ? "s3://" + place.region : place.endpoint);
  Result<s3::BucketAddress> address = s3::BucketAddress::make(place);
  if (!address) throw SetupError(address.error().trouble, address.error().message);
  auto keeper = settings.credentials == "anonymous" ? nullptr : credentials(settings.credentials);
  auto dialect = s3::make_s3_dialect({place.bucket, place.region, std::move(*address)}, std::move(keeper));
  auto endpoint = std::make_shared<http::Endpoint>(place_of(uri), transfer_settings(settings), std::move(dialect),
                                                   budget(settings), std::move(service));
  return std::make_shared<http::NetworkStore>(network_, std::move(endpoint));
}

// Under the mutex. Buckets of one store have one budget, and places that no settings name have one each.
std::shared_ptr<http::Budget> RemoteStores::budget(const config::StoreSettings& settings) {
  if (settings.uri.empty()) return nullptr;
  auto& budget = budgets_[settings.uri];
  if (!budget) budget = std::make_shared<http::Budget>(settings.limits);
  return budget;
}

// Under the mutex.
std::shared_ptr<http::Server> RemoteStores::server(const std::string& address) {
  auto& kept = servers_[address];
  auto server = kept.lock();
  if (!server) kept = server = std::make_shared<http::Server>();
  return server;
}

// Under the mutex.
std::shared_ptr<CredentialsKeeper> RemoteStores::credentials(const std::string& name) {
  auto& keeper = credentials_[name];
  if (keeper) return keeper;
  auto source = name_source(name, environment_, http::ask);
  if (!source) throw SetupError(source.error().trouble, source.error().message);
  keeper = std::make_shared<CredentialsKeeper>(std::move(*source));
  return keeper;
}

std::vector<StoreReport> RemoteStores::reports() const {
  std::vector<std::shared_ptr<http::NetworkStore>> stores;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [key, kept] : stores_)
      if (auto store = kept.lock()) stores.push_back(std::move(store));
  }
  std::vector<StoreReport> reports;
  for (const auto& store : stores) {
    const http::Endpoint& endpoint = store->endpoint();
    const http::EndpointStatistics& counted = endpoint.statistics();
    reports.push_back({.uri = endpoint.name(),
                       .requests = counted.requests.value(),
                       .failures = counted.failures.value(),
                       .attempts = counted.attempts.value(),
                       .retries = counted.retries.value(),
                       .hedges = counted.hedges.value(),
                       .bytes = counted.bytes.value(),
                       .connections = counted.connections.value(),
                       .under_way = counted.under_way.level(),
                       .connections_max = endpoint.settings().limits.connections_max,
                       .duration_ns = Distribution::of(counted.duration_ns),
                       .failing_since_ns = counted.failing_since_ns.load(std::memory_order_relaxed),
                       .last_trouble = endpoint.last_trouble()});
  }
  return reports;
}

}  // namespace spdld::store::remote
