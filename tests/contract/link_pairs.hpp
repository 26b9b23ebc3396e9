// One connected sender and receiver of each link kind, for the contract suite.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <thread>

#include "base/file_descriptor.hpp"
#include "tests/memory/untouchable_memory.hpp"
#include "transport/link.hpp"
#include "transport/rdma/connection.hpp"
#include "transport/rdma/memory_region.hpp"
#include "transport/tls/tls_wire.hpp"

namespace framewire::test {

/// The next frame: what has arrived, or what can be read.
std::optional<IncomingFrame> drive_and_poll(ReceiverLink& receiver);

/// A thread that drives a receiver, as a subscriber's does.
class DrivingThread {
 public:
  /// `receiver` outlives this.
  explicit DrivingThread(ReceiverLink& receiver);
  ~DrivingThread();
  DrivingThread(const DrivingThread&) = delete;
  DrivingThread& operator=(const DrivingThread&) = delete;

 private:
  ReceiverLink& receiver_;
  FileDescriptor stop_event_ = make_eventfd();
  std::thread thread_;
};

struct LinkPair {
  std::unique_ptr<SenderLink> sender;
  std::unique_ptr<ReceiverLink> receiver;
  std::unique_ptr<DrivingThread> driving{};  // null: who polls the receiver drives it
  std::function<void()> let_pass;            // lets data in flight advance
  std::function<void()> cut;                 // the connection breaks
  std::shared_ptr<void> keeps_alive;
};

struct LinkMaker {
  std::string name;
  std::function<LinkPair()> make;
  const MemoryKind* pool_memory = &host_memory();
  const MemoryKind* ring_memory = &host_memory();  // where the receiver takes it
  /// The bytes of a block that is not on the host, as its device sees them.
  std::function<std::span<std::byte>(const Block&)> on_device = UntouchableMemory::on_device;

  /// In the lists of tests, in place of its bytes.
  friend std::ostream& operator<<(std::ostream& out, const LinkMaker& maker) { return out << maker.name; }
};

/// fake, local, tcp, tcp inside TLS, and rdma if there is a device, and these with memory that the processor may not
/// touch. Add new link kinds here.
std::vector<LinkMaker> link_makers();

/// local, tcp, and rdma if there is a device, with a pool and, where the receiver takes it, a ring of this kind of
/// memory; rdma also with only one of them.
std::vector<LinkMaker> link_makers_with(const MemoryKind& memory,
                                        const std::function<std::span<std::byte>(const Block&)>& on_device);

/// Both sides of one RDMA connection, over the first RDMA device of this machine to itself.
struct RdmaConnectionPair {
  std::unique_ptr<RdmaConnection> accepted;  // in the sender's domain
  std::unique_ptr<RdmaConnection> dialled;   // in a domain of its own, or in the given one
};
RdmaConnectionPair rdma_connection_pair(SenderProtectionDomains& protection_domains,
                                        const RdmaPreferences& preferences = {}, bool receives_immediates = true,
                                        const ProtectionDomainOf& dialler_domain = allocate_protection_domain,
                                        std::optional<std::uint8_t> type_of_service = {});

/// TLS on both sides of a connection; the dialler is first.
std::pair<std::unique_ptr<TlsWire>, std::unique_ptr<TlsWire>> tls_wire_pair(
    FileDescriptor dialler, FileDescriptor listener, std::uint32_t records_per_key = max_records_per_key);

/// A connected pair of TCP sockets over loopback.
std::pair<FileDescriptor, FileDescriptor> tcp_socket_pair();
std::pair<FileDescriptor, FileDescriptor> unix_socket_pair();

}  // namespace framewire::test
