// The listening end of an RDMA connection, for tests.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "tests/base/eventually.hpp"
#include "transport/rdma/addresses.hpp"
#include "transport/rdma/connection.hpp"
#include "transport/rdma/listener.hpp"
#include "transport/rdma/memory_region.hpp"
#include "transport/rdma/wire.hpp"

namespace framewire::test {

inline constexpr std::int64_t connecting_ns = 5 * ns_per_s;

/// Accepts every connection at this machine's first address that leads to an RDMA device, in the sender's protection
/// domain. Accepts on the listener's thread.
class AcceptingSide {
 public:
  explicit AcceptingSide(SenderProtectionDomains& protection_domains, const RdmaPreferences& preferences = {},
                         bool receives_immediates = true, std::optional<std::uint8_t> type_of_service = {})
      : protection_domains_(protection_domains),
        preferences_(preferences),
        receives_immediates_(receives_immediates),
        type_of_service_(type_of_service),
        listener_(addresses(), 0, [this](RdmaConnectRequest request, auto&&...) { accept(std::move(request)); }) {}

  [[nodiscard]] sockaddr_storage address() const {
    sockaddr_storage address = addresses().front();
    // sin_port and sin6_port have the same offset.
    reinterpret_cast<sockaddr_in&>(address).sin_port = htons(listener_.port());
    return address;
  }

  /// Throws the exception that accept() ended with.
  std::unique_ptr<RdmaConnection> take() {
    EXPECT_TRUE(eventually([this] {
      const std::scoped_lock lock(mutex_);
      return accepted_ != nullptr || fault_;
    }));
    const std::scoped_lock lock(mutex_);
    if (fault_) {
      throw Error(*fault_);
    }
    return std::move(accepted_);
  }
  std::optional<Error> fault() {
    const std::scoped_lock lock(mutex_);
    return fault_;
  }

 private:
  static std::vector<sockaddr_storage> addresses() {
    std::vector<sockaddr_storage> all = rdma_addresses();
    if (all.empty()) {
      throw Error::failed("no address leads to an RDMA device");
    }
    all.resize(1);
    return all;
  }

  void accept(RdmaConnectRequest request) {
    std::unique_ptr<RdmaConnection> accepted;
    std::optional<Error> fault;
    try {
      accepted = RdmaConnection::accept(
          std::move(request),
          {.protection_domain_of = [this](ibv_context* one) { return protection_domains_.protection_domain_of(one); },
           .preferences = preferences_,
           .staging_bytes_per_request = cell_stride_bytes,
           .type_of_service = type_of_service_,
           .receives_immediates = receives_immediates_,
           .completion_vector = protection_domains_.next_completion_vector()},
          monotonic_ns() + connecting_ns);
    } catch (const Error& error) {
      fault = error;
    }
    const std::scoped_lock lock(mutex_);
    accepted_ = std::move(accepted);
    fault_ = std::move(fault);
  }

  SenderProtectionDomains& protection_domains_;
  const RdmaPreferences preferences_;
  const bool receives_immediates_;
  const std::optional<std::uint8_t> type_of_service_;
  std::mutex mutex_;
  std::unique_ptr<RdmaConnection> accepted_;
  std::optional<Error> fault_;
  RdmaListener listener_;
};

}  // namespace framewire::test
