#include "transport/rdma/rdma_provider.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/rdma/addresses.hpp"
#include "transport/rdma/dial.hpp"
#include "transport/rdma/listener.hpp"
#include "transport/rdma/rdma_puller.hpp"
#include "transport/rdma/rdma_read_target.hpp"
#include "transport/rdma/rdma_receiver.hpp"
#include "transport/rdma/rdma_sender.hpp"
#include "transport/rdma/wire.hpp"
#include "transport/rdma/work_requests.hpp"

namespace framewire {

namespace {

constexpr LinkTraits rdma_traits{.kind = LinkKind::rdma,
                                 .name = "rdma",
                                 .wire_name = "rdma",
                                 .has_own_listener = true,
                                 .missing = "no RDMA device",
                                 .may_prove_unusable = true,
                                 .holds_registered_memory = true,
                                 .can_be_pulled = true};

/// The protection domains (PDs) of a sender. Viewers that pull have PDs of their own, in which pools can be read by
/// them: the PDs of other viewers never allow that.
class Resources final : public SenderResources {
 public:
  SenderProtectionDomains pushing;
  SenderProtectionDomains pulling{PoolReaders::viewers};
};

/// Null at a viewer, whose link has a PD of its own.
SenderProtectionDomains* protection_domains_of(const LinkParameters& parameters) noexcept {
  auto* const resources = static_cast<Resources*>(parameters.sender_resources);
  if (resources == nullptr) {
    return nullptr;
  }
  return parameters.pulls ? &resources->pulling : &resources->pushing;
}

/// Spreads sessions over the completion vectors. A sender counts its sessions. A viewer has few, so the viewers of one
/// machine start at random ones.
std::uint32_t next_completion_vector(SenderProtectionDomains* protection_domains) {
  static CompletionVectors of_viewers = CompletionVectors::from_random();
  return protection_domains != nullptr ? protection_domains->next_completion_vector() : of_viewers.next();
}

RdmaOptions options_of(const LinkParameters& parameters) {
  SenderProtectionDomains* const protection_domains = protection_domains_of(parameters);
  Log* const log = parameters.log;
  return {.protection_domain_of =
              [protection_domains](ibv_context* device) {
                return protection_domains != nullptr ? protection_domains->protection_domain_of(device)
                                                     : allocate_protection_domain(device);
              },
          .peer_timeout_ns = parameters.native_timeout_ns,
          .staging_bytes_per_request = protection_domains != nullptr && !parameters.pulls ? cell_stride_bytes : 0,
          .cancel_fd = parameters.cancel_fd,
          .type_of_service = parameters.type_of_service,
          .receives_immediates = !parameters.pulls,
          .completion_vector = next_completion_vector(protection_domains),
          .say =
              [log](LogLevel level, const std::string& text) {
                if (log != nullptr) {
                  log->line(level, text);
                }
              }};
}

class Connection final : public NativeConnection {
 public:
  explicit Connection(std::unique_ptr<RdmaConnection> rdma) noexcept : rdma_(std::move(rdma)) {}
  std::unique_ptr<RdmaConnection> take() noexcept { return std::move(rdma_); }

 private:
  std::unique_ptr<RdmaConnection> rdma_;
};

std::unique_ptr<RdmaConnection> connection_of(LinkConnection connection) {
  auto* const native = std::get_if<std::unique_ptr<NativeConnection>>(&connection);
  auto* const own = native != nullptr ? dynamic_cast<Connection*>(native->get()) : nullptr;
  if (own == nullptr) {
    throw Error::failed("the rdma link needs an RDMA connection, and has a connection of another kind");
  }
  return own->take();
}

class Request final : public ConnectRequest {
 public:
  explicit Request(RdmaConnectRequest rdma) noexcept : rdma_(std::move(rdma)) {}
  void set_answer(const ConnectHello& answer) noexcept override { rdma_.set_answer(answer); }
  RdmaConnectRequest take() noexcept { return std::move(rdma_); }

 private:
  RdmaConnectRequest rdma_;
};

class Listener final : public LinkListener {
 public:
  Listener(std::span<const sockaddr_storage> addresses, std::uint16_t port, OnConnectRequest on_request)
      : rdma_(addresses, port,
              [on_request = std::move(on_request)](RdmaConnectRequest request, std::span<const std::byte> hello,
                                                   const std::string& from) {
                on_request(std::make_unique<Request>(std::move(request)), hello, from);
              }) {}

  [[nodiscard]] LinkDescription description() const override {
    return rdma_.port() != 0 ? describe(RdmaListenerAddress{.port = rdma_.port(), .addresses = rdma_.addresses()})
                             : LinkDescription();
  }

  [[nodiscard]] std::string why_gone() const override {
    // A device can disappear at any time, and a listener on all addresses gets no event for that.
    return rdma_.port() == 0 || rdma_addresses().empty() ? "its RDMA device is gone" : "";
  }

 private:
  RdmaListener rdma_;
};

class RdmaProvider final : public LinkProvider {
 public:
  [[nodiscard]] const LinkTraits& traits() const noexcept override { return rdma_traits; }

  [[nodiscard]] std::unique_ptr<SenderLink> make_sender(LinkConnection connection,
                                                        const LinkParameters& parameters) const override {
    return std::make_unique<RdmaSender>(connection_of(std::move(connection)), *protection_domains_of(parameters));
  }

  [[nodiscard]] std::unique_ptr<ReceiverLink> make_receiver(LinkConnection connection,
                                                            const LinkParameters& parameters) const override {
    std::unique_ptr<RdmaConnection> rdma = connection_of(std::move(connection));
    if (parameters.pulls) {
      return std::make_unique<RdmaPuller>(std::move(rdma), parameters.pull_interval_ns, parameters.relaxed_ordering);
    }
    return std::make_unique<RdmaReceiver>(std::move(rdma), parameters.relaxed_ordering);
  }

  [[nodiscard]] std::unique_ptr<SenderResources> make_sender_resources() const override {
    return std::make_unique<Resources>();
  }

  [[nodiscard]] std::unique_ptr<ReadTarget> make_read_target(LinkConnection connection,
                                                             const LinkParameters& parameters) const override {
    return std::make_unique<RdmaReadTarget>(connection_of(std::move(connection)), *protection_domains_of(parameters));
  }

  [[nodiscard]] bool is_available() const override { return !rdma_addresses().empty(); }

  void require_available() const override {
    if (!is_available()) {
      throw no_rdma_device();
    }
  }

  [[nodiscard]] std::unique_ptr<LinkListener> listen(const LinkListenOptions& options,
                                                     OnConnectRequest on_request) const override {
    std::vector<sockaddr_storage> addresses = rdma_addresses();
    if (addresses.empty()) {
      throw no_rdma_device();
    }
    if (!options.native_listen_address.empty()) {
      addresses = {named_rdma_address(options.native_listen_address, options.port).storage};
    } else if (options.is_beyond_loopback) {
      addresses.clear();
      std::ranges::transform(options.addresses, std::back_inserter(addresses), &SocketAddress::storage);
    }
    return std::make_unique<Listener>(addresses, options.port, std::move(on_request));
  }

  [[nodiscard]] std::unique_ptr<NativeConnection> dial(const HostPort& to, const LinkDescription& description,
                                                       const ConnectProof& proof,
                                                       const LinkParameters& parameters) const override {
    const RdmaListenerAddress listener = rdma_listener_from(description);
    return std::make_unique<Connection>(
        dial_rdma({.host = to.host, .port = listener.port}, proof, options_of(parameters),
                  monotonic_ns() + rdma_connection_timeout_ns,
                  {.announced = listener.addresses, .only = parameters.native_dial_address}));
  }

  [[nodiscard]] std::unique_ptr<NativeConnection> accept(std::unique_ptr<ConnectRequest> request,
                                                         const LinkParameters& parameters) const override {
    return std::make_unique<Connection>(RdmaConnection::accept(
        rdma_request_of(std::move(request)), options_of(parameters), monotonic_ns() + rdma_connection_timeout_ns));
  }
};

}  // namespace

const LinkProvider& rdma_provider() noexcept {
  static const RdmaProvider provider;
  return provider;
}

std::unique_ptr<ConnectedQueuePair> queue_pair_of(LinkConnection connection) {
  return connection_of(std::move(connection));
}

RdmaConnectRequest rdma_request_of(std::unique_ptr<ConnectRequest> request) {
  auto* const own = dynamic_cast<Request*>(request.get());
  if (own == nullptr) {
    throw Error::failed("the rdma link got a connection request of another link");
  }
  return own->take();
}

}  // namespace framewire
