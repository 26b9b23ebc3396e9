#include "bench/xdp/xdp_port.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

constexpr std::uint32_t frame_bytes = 4096;  // a page, which zero copy wants
constexpr std::uint32_t frames_each_way = 2048;
constexpr std::uint32_t first_queue = 0;
constexpr std::uint32_t headroom_bytes = 256;  // XDP_PACKET_HEADROOM, which the kernel keeps before what arrives
constexpr std::size_t header_bytes = 14 + sizeof(std::uint32_t);  // Ethernet's, and the number of the row
constexpr int most_refusals = 1000;  // of the kernel to take frames, which its queue has no room for
/// A queue that another socket has just left is busy for a moment.
constexpr std::int64_t longest_bind_ns = 2 * ns_per_s;

std::size_t longest_payload_bytes(const EthernetInterface& interface) {
  const std::size_t longest_frame = std::min<std::size_t>(interface.mtu_bytes + 14, frame_bytes - headroom_bytes);
  return longest_frame - header_bytes;
}

FileDescriptor make_xdp_socket() {
  FileDescriptor made(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (!made.valid() && errno == EAFNOSUPPORT) {
    throw Error::refused("this kernel has no XDP sockets (CONFIG_XDP_SOCKETS)");
  }
  if (!made.valid()) {
    throw Error::from_errno("make an XDP socket", errno);
  }
  return made;
}

void set_option(int socket, int option, const void* value, socklen_t bytes, const char* what) {
  if (::setsockopt(socket, SOL_XDP, option, value, bytes) == 0) {
    return;
  }
  if (errno == ENOBUFS) {
    throw Error::failed("an XDP socket may not lock " + std::to_string(2 * frames_each_way * frame_bytes >> 20) +
                        " MiB of memory; raise the limit (ulimit -l), or give it CAP_IPC_LOCK");
  }
  throw Error::from_errno(what, errno);
}

}  // namespace

// ---- Rings ----

template <typename Entry>
XdpRing<Entry>::XdpRing(int socket, const xdp_ring_offset& offsets, std::uint64_t page_offset, std::uint32_t entries)
    : mapped_bytes_(offsets.desc + entries * sizeof(Entry)), mask_(entries - 1) {
  mapped_ = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, socket,
                   static_cast<off_t>(page_offset));
  if (mapped_ == MAP_FAILED) {
    mapped_ = nullptr;
    throw Error::from_errno("map a ring of an XDP socket", errno);
  }
  auto* const bytes = static_cast<std::byte*>(mapped_);
  producer_ = reinterpret_cast<std::atomic<std::uint32_t>*>(bytes + offsets.producer);
  consumer_ = reinterpret_cast<std::atomic<std::uint32_t>*>(bytes + offsets.consumer);
  flags_ = reinterpret_cast<std::atomic<std::uint32_t>*>(bytes + offsets.flags);
  entries_ = reinterpret_cast<Entry*>(bytes + offsets.desc);
}

template <typename Entry>
XdpRing<Entry>::~XdpRing() {
  if (mapped_ != nullptr) {
    ::munmap(mapped_, mapped_bytes_);
  }
}

template <typename Entry>
XdpRing<Entry>::XdpRing(XdpRing&& other) noexcept {
  *this = std::move(other);
}

template <typename Entry>
XdpRing<Entry>& XdpRing<Entry>::operator=(XdpRing&& other) noexcept {
  std::swap(mapped_, other.mapped_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(producer_, other.producer_);
  std::swap(consumer_, other.consumer_);
  std::swap(flags_, other.flags_);
  std::swap(entries_, other.entries_);
  std::swap(mask_, other.mask_);
  std::swap(own_, other.own_);
  std::swap(other_, other.other_);
  return *this;
}

template <typename Entry>
bool XdpRing<Entry>::has_room() noexcept {
  if (own_ - other_ > mask_) {
    other_ = consumer_->load(std::memory_order_acquire);
  }
  return own_ - other_ <= mask_;
}

template <typename Entry>
bool XdpRing<Entry>::has_entry() noexcept {
  if (own_ == other_) {
    other_ = producer_->load(std::memory_order_acquire);
  }
  return own_ != other_;
}

// ---- The port ----

XdpPort::XdpPort(const EthernetInterface& interface, const XdpPortOptions& options)
    : options_(options),
      payload_bytes_(longest_payload_bytes(interface)),
      memory_(HostBlock::create("frames of an XDP socket", std::uint64_t{2} * frames_each_way * frame_bytes)),
      socket_(make_xdp_socket()) {
  register_memory();
  make_rings();
  for (std::uint64_t i = 0; i < frames_each_way; ++i) {
    fill_.push(i * frame_bytes);
    free_.push_back((frames_each_way + i) * frame_bytes);
  }
  fill_.publish();
  consumed_.reserve(frames_each_way);
  std::ranges::copy(interface.mac, header_.begin() + 6);
  const std::uint16_t ethertype = htons(xdp_ethertype);
  const std::uint32_t row = htonl(options.row);
  std::memcpy(header_.data() + 12, &ethertype, sizeof ethertype);
  std::memcpy(header_.data() + 14, &row, sizeof row);
  program_.emplace(interface, options.mode, options.row);  // drivers give zero copy to an interface with a program
  bind_to(interface.index);
  program_->set_socket(first_queue, socket_.get());
}

XdpPort::~XdpPort() = default;

void XdpPort::set_peer(const MacAddress& mac) noexcept {
  std::ranges::copy(mac, header_.begin());
}

void XdpPort::register_memory() {
  xdp_umem_reg memory{};
  memory.addr = reinterpret_cast<std::uintptr_t>(memory_->bytes().data());
  memory.len = memory_->bytes().size();
  memory.chunk_size = frame_bytes;
  set_option(socket_.get(), XDP_UMEM_REG, &memory, sizeof memory, "register the memory of an XDP socket");
}

void XdpPort::make_rings() {
  constexpr std::uint32_t entries = frames_each_way;
  for (const int ring : {XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING, XDP_TX_RING}) {
    set_option(socket_.get(), ring, &entries, sizeof entries, "make the rings of an XDP socket");
  }
  xdp_mmap_offsets offsets{};
  socklen_t bytes = sizeof offsets;
  if (::getsockopt(socket_.get(), SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &bytes) != 0 || bytes != sizeof offsets) {
    throw Error::failed("this kernel's XDP sockets are too old; Linux 5.9 or newer is needed");
  }
  fill_ = {socket_.get(), offsets.fr, XDP_UMEM_PGOFF_FILL_RING, entries};
  completion_ = {socket_.get(), offsets.cr, XDP_UMEM_PGOFF_COMPLETION_RING, entries};
  received_ = {socket_.get(), offsets.rx, XDP_PGOFF_RX_RING, entries};
  sent_ = {socket_.get(), offsets.tx, XDP_PGOFF_TX_RING, entries};
}

/// In native mode asks for zero copy first. A driver grants it only to its own program: in generic mode it would not
/// send.
void XdpPort::bind_to(std::uint32_t interface_index) {
  sockaddr_xdp address{};
  address.sxdp_family = AF_XDP;
  address.sxdp_ifindex = interface_index;
  address.sxdp_queue_id = first_queue;
  const std::int64_t give_up_ns = monotonic_ns() + longest_bind_ns;
  for (;;) {
    for (const int how : {XDP_ZEROCOPY, XDP_COPY}) {
      if (how == XDP_ZEROCOPY && options_.mode == XdpMode::generic) {
        continue;
      }
      address.sxdp_flags = static_cast<__u16>(how | XDP_USE_NEED_WAKEUP);
      if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        is_zero_copy_ = how == XDP_ZEROCOPY;
        return;
      }
    }
    if (errno != EBUSY || monotonic_ns() >= give_up_ns) {
      throw Error::from_errno("bind an XDP socket to queue " + std::to_string(first_queue), errno);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::span<std::byte> XdpPort::next_to_fill() noexcept {
  if (free_.empty()) {
    collect_sent();
  }
  if (free_.empty() || !sent_.has_room()) {
    return {};
  }
  return memory_->bytes().subspan(free_.back() + header_bytes, payload_bytes_);
}

void XdpPort::queue(std::size_t bytes) noexcept {
  const std::uint64_t at = free_.back();
  free_.pop_back();
  std::memcpy(memory_->bytes().data() + at, header_.data(), header_bytes);
  sent_.push({.addr = at, .len = static_cast<__u32>(header_bytes + bytes), .options = 0});
}

/// In copy mode one call takes at most 32 frames. What the kernel does not take now goes with the next call.
void XdpPort::send_queued() {
  sent_.publish();
  for (int refusals = 0; sent_.left() > 0 && refusals < most_refusals && (!is_zero_copy_ || sent_.needs_wakeup());) {
    if (::sendto(socket_.get(), nullptr, 0, MSG_DONTWAIT, nullptr, 0) < 0) {
      if (errno != EAGAIN && errno != EBUSY && errno != ENOBUFS && errno != EINTR) {
        throw Error::from_errno("send over an XDP socket", errno);
      }
      ++refusals;
    }
    collect_sent();
    if (is_zero_copy_) {
      return;
    }
  }
}

void XdpPort::collect_sent() noexcept {
  while (completion_.has_entry()) {
    free_.push_back(completion_.pop());
  }
  completion_.release();
}

std::span<const std::byte> XdpPort::receive() {
  constexpr std::size_t give_back_at = 64;
  if (consumed_.size() >= give_back_at || !received_.has_entry()) {
    give_back();
  }
  if (!received_.has_entry()) {
    return {};
  }
  const xdp_desc& frame = received_.pop();
  consumed_.push_back(frame.addr / frame_bytes * frame_bytes);
  if (frame.len < header_bytes) {
    return {};
  }
  return memory_->bytes().subspan(frame.addr + header_bytes, frame.len - header_bytes);
}

void XdpPort::give_back() noexcept {
  if (consumed_.empty()) {
    return;
  }
  received_.release();
  while (!consumed_.empty() && fill_.has_room()) {
    fill_.push(consumed_.back());
    consumed_.pop_back();
  }
  fill_.publish();
}

void XdpPort::sleep_until_readable(std::int64_t deadline_ns) {
  pollfd one{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  wait_until({&one, 1}, deadline_ns);
  if ((one.revents & POLLERR) != 0) {
    int error_number = 0;
    socklen_t bytes = sizeof error_number;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error_number, &bytes);
    throw Error::lost_peer("the interface of an XDP socket went down or away: " + errno_text(error_number));
  }
}

void XdpPort::wait(std::int64_t deadline_ns) {
  give_back();
  while (!received_.has_entry() && monotonic_ns() < deadline_ns) {
    if (!options_.spins) {
      sleep_until_readable(deadline_ns);
    } else if (fill_.needs_wakeup()) {
      ::recvfrom(socket_.get(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
    }
  }
}

template class XdpRing<std::uint64_t>;
template class XdpRing<xdp_desc>;

}  // namespace framewire
