#include "transport/tcp/tcp_provider.hpp"

#include <utility>

#include "transport/tcp/plain_wire.hpp"
#include "transport/tcp/tcp_receiver.hpp"
#include "transport/tcp/tcp_sender.hpp"

namespace framewire {

namespace {

/// TLS if the session has set that up, else the socket itself.
std::unique_ptr<ByteWire> wire_of(LinkConnection connection) {
  if (auto* const wire = std::get_if<std::unique_ptr<ByteWire>>(&connection)) {
    return std::move(*wire);
  }
  return std::make_unique<PlainWire>(socket_of(std::move(connection)));
}

class TcpProvider final : public LinkProvider {
 public:
  [[nodiscard]] const LinkTraits& traits() const noexcept override {
    static constexpr LinkTraits tcp{.kind = LinkKind::tcp, .name = "tcp", .wire_name = "tcp", .can_be_encrypted = true};
    return tcp;
  }

  [[nodiscard]] std::unique_ptr<SenderLink> make_sender(LinkConnection connection,
                                                        const LinkParameters& parameters) const override {
    return std::make_unique<TcpSender>(wire_of(std::move(connection)), parameters.peer_timeout_ns);
  }

  [[nodiscard]] std::unique_ptr<ReceiverLink> make_receiver(LinkConnection connection,
                                                            const LinkParameters& parameters) const override {
    return std::make_unique<TcpReceiver>(wire_of(std::move(connection)), parameters.peer_timeout_ns);
  }
};

}  // namespace

const LinkProvider& tcp_provider() noexcept {
  static const TcpProvider provider;
  return provider;
}

}  // namespace framewire
