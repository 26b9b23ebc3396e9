#include "viewer/rendezvous.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/control/no_peer.hpp"
#include "transport/control/token.hpp"

namespace framewire {

namespace {

constexpr std::int64_t find_timeout_ns = 3 * ns_per_s;

}  // namespace

Rendezvous::Rendezvous(SshHost host, const EndpointOptions& endpoint)
    : host_(std::move(host)),
      may_be_rdma_(!endpoint.encrypt && std::ranges::any_of(endpoint.allowed_links, [](LinkKind link) {
        return traits(link).has_own_listener;
      })) {
  std::ranges::copy(Token::random().bytes(), key_.bytes().begin());
}

void Rendezvous::open(std::uint16_t port, HostAddresses host, SshOptions ssh) {
  const std::scoped_lock lock(mutex_);
  sender_ = {.port = port, .host = std::move(host), .ssh = std::move(ssh)};
}

void Rendezvous::close() {
  const std::scoped_lock lock(mutex_);
  sender_.reset();
}

HostPort Rendezvous::find(const StopWait& stop) {
  std::optional<ListeningSender> sender;
  std::optional<std::string> host_name;
  {
    const std::scoped_lock lock(mutex_);
    sender = sender_;
    host_name = host_name_;
  }
  if (!sender) {
    throw NoPeer(PeerAbsence::to_come, "waiting for " + whom());
  }
  if (!host_name) {
    host_name = ssh_host_name(sender->ssh, host_.name, stop.fd);
    const std::scoped_lock lock(mutex_);
    host_name_ = host_name;
  }
  const std::vector<std::string> addresses = addresses_of(
      sender->host, own_host_addresses(), {.name = *host_name, .is_known_here = true, .may_be_rdma = may_be_rdma_});
  return find_reachable(addresses, sender->port, monotonic_ns() + find_timeout_ns,
                        "let this machine connect there, and check that no firewall is in the way", stop);
}

SubscriberOptions remote_session(const SubscriberOptions& session, const std::shared_ptr<Rendezvous>& rendezvous) {
  SubscriberOptions remote = session;
  remote.endpoint.dial.reset();
  remote.endpoint.listen.reset();
  remote.endpoint.key_file.reset();
  remote.endpoint.insecure = false;
  remote.endpoint.one_time_key = rendezvous->key();
  remote.stream.clear();
  if (remote.retry_ns == 0) {
    remote.retry_ns = -1;  // ssh needs its time
  }
  remote.finder = {.whom = rendezvous->whom(),
                   .find = [rendezvous](const StopWait& stop) { return rendezvous->find(stop); }};
  return remote;
}

}  // namespace framewire
