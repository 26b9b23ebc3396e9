// How the viewer finds the sender that it has started on another host.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/secret_bytes.hpp"
#include "ssh/address_selection.hpp"
#include "ssh/ssh_command.hpp"
#include "transport/session/subscriber.hpp"
#include "viewer/local_source.hpp"

namespace framewire {

/// The sender listens on a port of its own choice, and takes one key, made for this stream. Any thread.
class Rendezvous {
 public:
  /// Makes the key. Throws Error.
  Rendezvous(SshHost host, const EndpointOptions& endpoint);

  [[nodiscard]] const SecretBytes<32>& key() const noexcept { return key_; }
  /// "the sender that ssh starts on box".
  [[nodiscard]] std::string whom() const { return "the sender that ssh starts on " + host_.name; }

  /// The sender listens. `ssh` are the options of ssh for this host.
  void open(std::uint16_t port, HostAddresses host, SshOptions ssh);
  /// The sender has ended.
  void close();

  /// The best address where it listens, as rdpipe chooses it. Takes some seconds at most; `stop` ends that. Throws
  /// NoPeer if it does not listen, and Error (lost_peer) if no address leads there.
  HostPort find(const StopWait& stop);

 private:
  struct ListeningSender {
    std::uint16_t port;
    HostAddresses host;
    SshOptions ssh;
  };

  const SshHost host_;
  const bool may_be_rdma_;
  SecretBytes<32> key_;
  std::mutex mutex_;  // guards what follows
  std::optional<ListeningSender> sender_;
  std::optional<std::string> host_name_;  // by ssh's configuration
};

/// What `session` says, with the sender of `rendezvous`.
SubscriberOptions remote_session(const SubscriberOptions& session, const std::shared_ptr<Rendezvous>& rendezvous);

}  // namespace framewire
