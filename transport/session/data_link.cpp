#include "transport/session/data_link.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/local/local_receiver.hpp"
#include "transport/local/local_sender.hpp"
#include "transport/tcp/tcp_receiver.hpp"
#include "transport/tcp/tcp_sender.hpp"

namespace framewire {

namespace {

Error no_such_link(LinkKind kind) {
  return Error::failed("the " + std::string(name(kind)) +
                       " link is not in this build; take --transport auto, local or tcp");
}

}  // namespace

FileDescriptor dial_data(const HostPort& to, const Token& token, const DataConnection& connection) {
  const std::int64_t deadline_ns = monotonic_ns() + data_connection_timeout_ns;
  Dialled dialled = dial(to, deadline_ns, connection.link == LinkKind::local ? DialWay::any : DialWay::tcp);
  if (connection.link == LinkKind::local && !dialled.is_unix) {
    throw Error::lost_peer("the peer's Unix socket is gone");
  }
  send_data_hello(dialled.fd.get(), token, connection, deadline_ns);
  read_data_answer(dialled.fd.get(), token, connection, deadline_ns);
  return std::move(dialled.fd);
}

std::unique_ptr<SenderLink> make_sender_link(LinkKind kind, FileDescriptor socket, std::int64_t peer_timeout_ns) {
  switch (kind) {
    case LinkKind::local:
      return std::make_unique<LocalSender>(std::move(socket));
    case LinkKind::tcp:
      return std::make_unique<TcpSender>(std::move(socket), peer_timeout_ns);
    case LinkKind::rdma:
      break;
  }
  throw no_such_link(kind);
}

std::unique_ptr<ReceiverLink> make_receiver_link(LinkKind kind, FileDescriptor socket, std::int64_t peer_timeout_ns) {
  switch (kind) {
    case LinkKind::local:
      return std::make_unique<LocalReceiver>(std::move(socket), monotonic_ns() + data_connection_timeout_ns);
    case LinkKind::tcp:
      return std::make_unique<TcpReceiver>(std::move(socket), peer_timeout_ns);
    case LinkKind::rdma:
      break;
  }
  throw no_such_link(kind);
}

std::string start_line(LinkKind link, const std::string& auth, const std::string& control) {
  return "transport=" + std::string(name(link)) + " memory=host auth=" + auth + " control=" + control +
         " frames=plaintext";
}

}  // namespace framewire
