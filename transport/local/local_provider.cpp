#include "transport/local/local_provider.hpp"

#include <utility>

#include "base/clock.hpp"
#include "transport/local/local_receiver.hpp"
#include "transport/local/local_sender.hpp"

namespace framewire {

namespace {

class LocalProvider final : public LinkProvider {
 public:
  [[nodiscard]] const LinkTraits& traits() const noexcept override {
    static constexpr LinkTraits local{.kind = LinkKind::local,
                                      .name = "local",
                                      .wire_name = "local2",
                                      .needs_same_host = true,
                                      .shares_memory = true};
    return local;
  }

  [[nodiscard]] std::unique_ptr<SenderLink> make_sender(LinkConnection connection,
                                                        const LinkParameters& parameters) const override {
    return std::make_unique<LocalSender>(socket_of(std::move(connection)), parameters.viewer_memory);
  }

  [[nodiscard]] std::unique_ptr<ReceiverLink> make_receiver(LinkConnection connection,
                                                            const LinkParameters& parameters) const override {
    const std::int64_t deadline_ns = monotonic_ns() + data_connection_timeout_ns;
    FileDescriptor socket = socket_of(std::move(connection));
    await_first_bytes(socket.get(), parameters.cancel_fd, deadline_ns);
    return std::make_unique<LocalReceiver>(std::move(socket), deadline_ns);
  }
};

}  // namespace

const LinkProvider& local_provider() noexcept {
  static const LocalProvider provider;
  return provider;
}

}  // namespace framewire
