#include "tests/transport/added_link.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"
#include "transport/json_fields.hpp"
#include "transport/tcp/plain_wire.hpp"
#include "transport/tcp/tcp_receiver.hpp"
#include "transport/tcp/tcp_sender.hpp"

namespace framewire::test {

namespace {

constexpr std::int64_t timeout_ns = 10 * ns_per_s;

/// An abstract Unix address; the name ends with the port.
SocketAddress address_of(std::uint16_t port) {
  SocketAddress address = unix_address(port);
  auto& unix_path = reinterpret_cast<sockaddr_un&>(address.storage);
  unix_path.sun_path[1] = 'X';  // not the control channel's own
  return address;
}

void send_all(int socket, std::span<const std::byte> bytes) {
  if (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
    throw Error::lost_peer("the peer's end of the added link is gone");
  }
}

ConnectHello receive_hello(int socket) {
  ConnectHello hello{};
  if (!wait_for(socket, POLLIN, monotonic_ns() + timeout_ns) ||
      ::recv(socket, hello.data(), hello.size(), MSG_WAITALL) != static_cast<ssize_t>(hello.size())) {
    throw Error::lost_peer("the listener of the added link rejected the connection");
  }
  return hello;
}

class Connection final : public NativeConnection {
 public:
  explicit Connection(FileDescriptor its_socket) noexcept : socket(std::move(its_socket)) {}
  FileDescriptor socket;
};

class Request final : public ConnectRequest {
 public:
  explicit Request(FileDescriptor its_socket) noexcept : socket(std::move(its_socket)) {}
  void set_answer(const ConnectHello& its_answer) noexcept override { answer = its_answer; }
  FileDescriptor socket;
  ConnectHello answer{};
};

class Listener final : public LinkListener {
 public:
  Listener(std::uint16_t port, OnConnectRequest on_request) : port_(port), on_request_(std::move(on_request)) {
    socket_ = FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const SocketAddress address = address_of(port);
    if (::bind(socket_.get(), address.get(), address.size_bytes) != 0 || ::listen(socket_.get(), 10) != 0) {
      throw Error::failed("cannot listen for the added link: " + errno_text(errno));
    }
    thread_ = std::thread([this] { accept_loop(); });
  }

  ~Listener() override {
    signal_eventfd(stop_event_.get());
    thread_.join();
  }

  [[nodiscard]] LinkDescription description() const override { return nlohmann::json{{"place", port_}}.dump(); }
  [[nodiscard]] std::string why_gone() const override { return {}; }

 private:
  void accept_loop() {
    std::array ends{pollfd{.fd = stop_event_.get(), .events = POLLIN, .revents = 0},
                    pollfd{.fd = socket_.get(), .events = POLLIN, .revents = 0}};
    while (wait_until(ends, INT64_MAX) > 0 && ends[0].revents == 0) {
      FileDescriptor accepted(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      try {
        const ConnectHello hello = receive_hello(accepted.get());
        on_request_(std::make_unique<Request>(std::move(accepted)), hello, "a test");
      } catch (const Error&) {
        // The peer has gone away.
      }
    }
  }

  std::uint16_t port_;
  OnConnectRequest on_request_;
  FileDescriptor socket_;
  FileDescriptor stop_event_ = make_eventfd();
  std::thread thread_;
};

void maintain(Maintenance& maintenance) noexcept {
  ++maintenance.calls;
  if (clear_eventfd(maintenance.event.get())) {
    ++maintenance.events;
  }
}

/// Tcp's sender under the name of an added link.
class Sender final : public SenderLink {
 public:
  Sender(LinkKind kind, std::unique_ptr<ByteWire> wire) : kind_(kind), tcp_(std::move(wire), timeout_ns) {}
  [[nodiscard]] LinkKind kind() const noexcept override { return kind_; }
  void begin_epoch(std::shared_ptr<Pool> pool) override { tcp_.begin_epoch(std::move(pool)); }
  void epoch_ready(std::uint32_t epoch, std::uint32_t slots, const LinkDescription& ring) noexcept override {
    tcp_.epoch_ready(epoch, slots, ring);
  }
  SendResult try_send(const OutgoingFrame& frame) noexcept override { return tcp_.try_send(frame); }
  [[nodiscard]] std::shared_ptr<PeerWaker> take_waker() noexcept override { return tcp_.take_waker(); }
  std::size_t poll_released(std::span<PoolSlot> released) noexcept override { return tcp_.poll_released(released); }
  bool arm() noexcept override { return tcp_.arm(); }
  [[nodiscard]] int descriptor() const noexcept override { return tcp_.descriptor(); }
  void on_readable() noexcept override { tcp_.on_readable(); }
  void maintain() noexcept override { test::maintain(added_link_state().of_sender); }
  [[nodiscard]] int maintenance_descriptor() const noexcept override {
    return added_link_state().of_sender.event.get();
  }
  [[nodiscard]] LinkState state() const noexcept override { return tcp_.state(); }
  [[nodiscard]] std::string fault() const override { return tcp_.fault(); }
  [[nodiscard]] std::uint64_t frames_acknowledged() const noexcept override { return tcp_.frames_acknowledged(); }

 private:
  LinkKind kind_;
  TcpSender tcp_;
};

class Receiver final : public ReceiverLink {
 public:
  Receiver(LinkKind kind, std::unique_ptr<ByteWire> wire) : kind_(kind), tcp_(std::move(wire), timeout_ns) {}
  [[nodiscard]] LinkKind kind() const noexcept override { return kind_; }
  LinkDescription begin_epoch(std::uint32_t epoch, std::uint64_t slot_bytes, std::uint32_t ring_slots,
                              const LinkDescription& pool) override {
    return tcp_.begin_epoch(epoch, slot_bytes, ring_slots, pool);
  }
  bool drive() noexcept override { return tcp_.drive(); }
  [[nodiscard]] int wire_descriptor() const noexcept override { return tcp_.wire_descriptor(); }
  std::optional<IncomingFrame> poll() noexcept override { return tcp_.poll(); }
  bool arm() noexcept override { return tcp_.arm(); }
  [[nodiscard]] int descriptor() const noexcept override { return tcp_.descriptor(); }
  void return_credit(const FrameHeader& header) noexcept override { tcp_.return_credit(header); }
  void maintain() noexcept override { test::maintain(added_link_state().of_receiver); }
  [[nodiscard]] int maintenance_descriptor() const noexcept override {
    return added_link_state().of_receiver.event.get();
  }
  [[nodiscard]] LinkState state() const noexcept override { return tcp_.state(); }
  [[nodiscard]] std::string fault() const override { return tcp_.fault(); }

 private:
  LinkKind kind_;
  TcpReceiver tcp_;
};

std::unique_ptr<ByteWire> wire_in(LinkConnection connection) {
  return std::make_unique<PlainWire>(
      std::move(static_cast<Connection&>(*std::get<std::unique_ptr<NativeConnection>>(connection)).socket));
}

FileDescriptor connect_to(const LinkDescription& listener) {
  const auto place = find_unsigned(nlohmann::json::parse(listener, nullptr, false), "place", 1, UINT16_MAX);
  if (!place || added_link_state().fails_to_connect) {
    throw Error::lost_peer("the added link leads nowhere");
  }
  const SocketAddress address = address_of(static_cast<std::uint16_t>(*place));
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), address.get(), address.size_bytes) != 0) {
    throw Error::lost_peer("nobody listens for the added link");
  }
  return socket;
}

class Provider final : public LinkProvider {
 public:
  [[nodiscard]] const LinkTraits& traits() const noexcept override {
    static constexpr LinkTraits added{.kind = added_link,
                                      .name = "added",
                                      .wire_name = "added1",
                                      .has_own_listener = true,
                                      .missing = "no room for it",
                                      .may_prove_unusable = true};
    return added;
  }
  [[nodiscard]] std::unique_ptr<SenderLink> make_sender(LinkConnection connection,
                                                        const LinkParameters&) const override {
    return std::make_unique<Sender>(added_link, wire_in(std::move(connection)));
  }
  [[nodiscard]] std::unique_ptr<ReceiverLink> make_receiver(LinkConnection connection,
                                                            const LinkParameters&) const override {
    return std::make_unique<Receiver>(added_link, wire_in(std::move(connection)));
  }
  [[nodiscard]] bool is_available() const override { return added_link_state().is_available; }
  void require_available() const override {
    if (!is_available()) {
      throw Error::failed("this machine has no room for the added link");
    }
  }
  [[nodiscard]] std::unique_ptr<LinkListener> listen(const LinkListenOptions& options,
                                                     OnConnectRequest on_request) const override {
    if (added_link_state().is_wrongly_addressed) {
      throw Error::usage("--added-address is wrong");
    }
    return std::make_unique<Listener>(options.port, std::move(on_request));
  }
  [[nodiscard]] std::unique_ptr<NativeConnection> dial(const HostPort&, const LinkDescription& listener,
                                                       const ConnectProof& proof,
                                                       const LinkParameters&) const override {
    FileDescriptor socket = connect_to(listener);
    send_all(socket.get(), proof.hello);
    proof.check_answer(receive_hello(socket.get()));
    return std::make_unique<Connection>(std::move(socket));
  }
  [[nodiscard]] std::unique_ptr<NativeConnection> accept(std::unique_ptr<ConnectRequest> request,
                                                         const LinkParameters&) const override {
    auto& own = static_cast<Request&>(*request);
    send_all(own.socket.get(), own.answer);
    ++added_link_state().connections;
    return std::make_unique<Connection>(std::move(own.socket));
  }
};

/// TLS if the session has set that up, else the socket itself.
std::unique_ptr<ByteWire> session_wire_in(LinkConnection connection) {
  if (auto* const wire = std::get_if<std::unique_ptr<ByteWire>>(&connection)) {
    return std::move(*wire);
  }
  return std::make_unique<PlainWire>(socket_of(std::move(connection)));
}

class SocketProvider final : public LinkProvider {
 public:
  [[nodiscard]] const LinkTraits& traits() const noexcept override {
    static constexpr LinkTraits added{.kind = added_socket_link,
                                      .name = "addedsocket",
                                      .wire_name = "addedsocket1",
                                      .missing = "no socket to spare",
                                      .can_be_encrypted = true};
    return added;
  }
  [[nodiscard]] std::unique_ptr<SenderLink> make_sender(LinkConnection connection,
                                                        const LinkParameters&) const override {
    return std::make_unique<Sender>(added_socket_link, session_wire_in(std::move(connection)));
  }
  [[nodiscard]] std::unique_ptr<ReceiverLink> make_receiver(LinkConnection connection,
                                                            const LinkParameters&) const override {
    return std::make_unique<Receiver>(added_socket_link, session_wire_in(std::move(connection)));
  }
  [[nodiscard]] bool is_available() const override { return added_link_state().socket_answers-- > 0; }
};

}  // namespace

const LinkProvider& added_provider() noexcept {
  static const Provider provider;
  return provider;
}

const LinkProvider& added_socket_provider() noexcept {
  static const SocketProvider provider;
  return provider;
}

AddedLinkState& added_link_state() noexcept {
  static AddedLinkState state;
  return state;
}

bool dial_added_link_with(const LinkDescription& listener, const ConnectHello& hello) {
  try {
    const FileDescriptor socket = connect_to(listener);
    send_all(socket.get(), hello);
    receive_hello(socket.get());
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace framewire::test
