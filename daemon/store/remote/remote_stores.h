// The remote stores of the node: made when a uri is first asked for, by the operator's settings for it, and shared by
// all pipelines.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/daemon_settings.h"
#include "daemon/base/distribution.h"
#include "daemon/store/credentials/credentials.h"
#include "daemon/store/credentials/keeper.h"
#include "daemon/store/http/network.h"
#include "daemon/store/http/network_store.h"
#include "daemon/store/stores.h"

namespace spdld::store::remote {

// The work of one store so far, for reports.
struct StoreReport {
  std::string uri;
  uint64_t requests = 0, failures = 0, attempts = 0, retries = 0, hedges = 0, bytes = 0, connections = 0;
  uint64_t under_way = 0;
  uint64_t connections_max = 0;   // attempts at once, at most
  Distribution duration_ns;       // of requests that ended well
  uint64_t failing_since_ns = 0;  // 0: its last attempt ended well
  std::string last_trouble;
};

// Any thread, but for set_settings() on the control thread.
class RemoteStores {
 public:
  explicit RemoteStores(std::vector<config::StoreSettings> settings, Environment environment = process_environment());
  ~RemoteStores();
  RemoteStores(const RemoteStores&) = delete;
  RemoteStores& operator=(const RemoteStores&) = delete;

  // From now on new stores are made by these settings. Stores in use go on as they were made.
  void set_settings(std::vector<config::StoreSettings> settings);
  // The store of a uri, as Stores::find().
  Stores::Found find(const std::string& uri);
  std::vector<StoreReport> reports() const;
  // Reads end with kStopping from now on.
  void stop() { network_.stop(); }

  // The stores for one pipeline: if it is bound, objects below one of `within` alone. Borrows this object.
  std::shared_ptr<const Stores> allow(std::vector<std::string> within, bool is_bound);

 private:
  const config::StoreSettings& settings_of(const std::string& uri) const;
  std::shared_ptr<http::NetworkStore> make(const config::StoreSettings& settings, const std::string& uri);
  std::shared_ptr<http::NetworkStore> make_s3(const config::StoreSettings& settings, const std::string& uri);
  std::shared_ptr<CredentialsKeeper> credentials(const std::string& name);
  std::shared_ptr<http::Budget> budget(const config::StoreSettings& settings);
  std::shared_ptr<http::Server> server(const std::string& address);

  const Environment environment_;
  http::Network network_;
  mutable std::mutex mutex_;
  std::vector<config::StoreSettings> settings_;                            // under the mutex, as the following
  std::map<std::string, std::weak_ptr<http::NetworkStore>> stores_;        // by how and where they are asked
  std::map<std::string, std::shared_ptr<CredentialsKeeper>> credentials_;  // by name
  std::map<std::string, std::shared_ptr<http::Budget>> budgets_;           // by the uri of the settings
  std::map<std::string, std::weak_ptr<http::Server>> servers_;             // by address, of a service or a web server
};

}  // namespace spdld::store::remote
