#include "bench/xdp/xdp_program.hpp"

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/system_files.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

constexpr std::uint32_t max_queues = 256;
constexpr std::uint32_t ethernet_header_bytes = 14;
constexpr std::uint32_t ethertype_at = 12;
/// Native mode wants a frame in one page, behind the headroom of XDP and before struct skb_shared_info (veth,
/// virtio_net and others): 4096 - 256 - 320 bytes.
constexpr std::uint32_t largest_native_mtu_bytes = 3520 - ethernet_header_bytes;
constexpr std::uint32_t usual_mtu_bytes = 1500;

int bpf(bpf_cmd command, bpf_attr& attributes) noexcept {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

std::uint64_t pointer(const void* at) noexcept {
  return reinterpret_cast<std::uintptr_t>(at);
}

// ---- The program, in the instructions of Documentation/bpf/standardization/instruction-set.rst ----

constexpr bpf_insn instruction(unsigned code, unsigned to, unsigned from, int offset, std::int32_t number) noexcept {
  bpf_insn made{};
  made.code = static_cast<__u8>(code);
  made.dst_reg = to & 0xfU;
  made.src_reg = from & 0xfU;
  made.off = static_cast<__s16>(offset);
  made.imm = number;
  return made;
}
constexpr bpf_insn load(unsigned size, unsigned to, unsigned from, std::uint32_t offset) noexcept {
  return instruction(BPF_LDX | BPF_MEM | size, to, from, static_cast<int>(offset), 0);
}
constexpr bpf_insn copy(unsigned to, unsigned from) noexcept {
  return instruction(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}
// NOLINTBEGIN(misc-redundant-expression): some of these constants are 0.
constexpr bpf_insn add(unsigned to, std::int32_t number) noexcept {
  return instruction(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, number);
}
/// The first half; the second one is zero.
constexpr bpf_insn load_map(unsigned to, int map) noexcept {
  return instruction(BPF_LD | BPF_DW | BPF_IMM, to, BPF_PSEUDO_MAP_FD, 0, map);
}
// NOLINTEND(misc-redundant-expression)
constexpr bpf_insn set(unsigned to, std::int32_t number) noexcept {
  return instruction(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, number);
}

using Program = std::array<bpf_insn, 18>;

/// Takes the frame if its EtherType and the four bytes behind it are the row's. `row` in the order of the wire.
constexpr Program program_for(int map, std::uint32_t row) noexcept {
  enum : unsigned { r0, r1, r2, r3, r4, r5, r6 };
  constexpr int pass_at = 16;
  const auto unless = [](unsigned code, unsigned a, unsigned b, std::int32_t number, int here) {
    return instruction(code, a, b, pass_at - here - 1, number);
  };
  const auto ethertype = static_cast<std::int32_t>(__builtin_bswap16(xdp_ethertype));
  return {{
      copy(r6, r1),
      load(BPF_W, r2, r1, offsetof(xdp_md, data)),
      load(BPF_W, r3, r1, offsetof(xdp_md, data_end)),
      copy(r4, r2),
      add(r4, ethernet_header_bytes + sizeof row),
      unless(BPF_JMP | BPF_JGT | BPF_X, r4, r3, 0, 5),
      load(BPF_H, r5, r2, ethertype_at),
      unless(BPF_JMP32 | BPF_JNE | BPF_K, r5, 0, ethertype, 7),
      load(BPF_W, r5, r2, ethernet_header_bytes),
      unless(BPF_JMP32 | BPF_JNE | BPF_K, r5, 0, static_cast<std::int32_t>(row), 9),
      load(BPF_W, r2, r6, offsetof(xdp_md, rx_queue_index)),
      load_map(r1, map),
      instruction(0, 0, 0, 0, 0),  // the second half of the load before
      set(r3, XDP_PASS),           // what becomes of frames of a queue without a socket
      instruction(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map),
      instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
      set(r0, XDP_PASS),
      instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
  }};
}

// ---- Loading ----

/// A system may forbid bpf() to everybody, or to programs in a container.
Error bpf_error(const std::string& what, int error_number) {
  const Error error = Error::from_errno(what, error_number);
  return error_number == EPERM || error_number == ENOSYS ? Error::refused(error.what()) : error;
}

FileDescriptor make_map() {
  bpf_attr attributes{};
  attributes.map_type = BPF_MAP_TYPE_XSKMAP;
  attributes.key_size = sizeof(std::uint32_t);
  attributes.value_size = sizeof(std::uint32_t);
  attributes.max_entries = max_queues;
  FileDescriptor map(bpf(BPF_MAP_CREATE, attributes));
  if (!map.valid()) {
    throw bpf_error("make a map for XDP", errno);
  }
  return map;
}

int load(const Program& program, std::span<char> log) noexcept {
  static const char license[] = "Dual MIT/GPL";
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_XDP;
  attributes.expected_attach_type = BPF_XDP;
  attributes.insns = pointer(program.data());
  attributes.insn_cnt = std::tuple_size_v<Program>;
  attributes.license = pointer(license);
  attributes.log_buf = log.empty() ? 0 : pointer(log.data());
  attributes.log_size = static_cast<__u32>(log.size());
  attributes.log_level = log.empty() ? 0 : 1;
  return bpf(BPF_PROG_LOAD, attributes);
}

/// Only if the kernel does not take it, it is asked for its reasons: a log that is too short would be an error, too.
FileDescriptor load_program(int map, std::uint32_t row) {
  const Program program = program_for(map, row);
  FileDescriptor loaded(load(program, {}));
  if (loaded.valid()) {
    return loaded;
  }
  const Error error = bpf_error("load a program for XDP", errno);
  std::vector<char> log(65536);
  const FileDescriptor unused(load(program, log));
  const std::string_view text = trimmed(log.data());
  constexpr std::size_t last_bytes = 300;  // the reason is at the end
  throw text.empty() ? error
                     : Error::failed(std::string(error.what()) + ": " +
                                     printable(text.substr(text.size() - std::min(text.size(), last_bytes))));
}

Error attach_error(const EthernetInterface& interface, XdpMode mode, int error_number) {
  const std::string what =
      "cannot take frames of " + quote(interface.name) + " by XDP in " + std::string(name(mode)) + " mode: ";
  const std::string shorten = "ip link set dev " + interface.name + " mtu ";
  switch (error_number) {
    case EBUSY:
    case EEXIST:
      return Error::failed(what + "another XDP program is on it; 'ip link show dev " + interface.name + "' names it");
    case ERANGE:  // veth, whose other end's MTU counts
      return Error::failed(what + "its MTU of " + std::to_string(interface.mtu_bytes) + " is too large; up to " +
                           std::to_string(largest_native_mtu_bytes) + " works: " + shorten +
                           std::to_string(largest_native_mtu_bytes) + ", and the same at the other end");
    case EINVAL:
    case EOPNOTSUPP:
      if (mode == XdpMode::native && interface.mtu_bytes > usual_mtu_bytes) {
        return Error::failed(what + errno_text(error_number) + "; many drivers want a smaller MTU than " +
                             std::to_string(interface.mtu_bytes) + " for it: " + shorten +
                             std::to_string(usual_mtu_bytes));
      }
      return error_number == EOPNOTSUPP ? Error::refused(what + "its driver does not know that mode")
                                        : Error::failed(what + errno_text(error_number));
    case EPERM:
      return Error::refused(what + errno_text(error_number));
    default:
      return Error::failed(what + errno_text(error_number));
  }
}

FileDescriptor attach(const EthernetInterface& interface, XdpMode mode, int program) {
  bpf_attr attributes{};
  attributes.link_create.prog_fd = static_cast<__u32>(program);
  attributes.link_create.target_ifindex = interface.index;
  attributes.link_create.attach_type = BPF_XDP;
  attributes.link_create.flags = mode == XdpMode::native ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
  FileDescriptor link(bpf(BPF_LINK_CREATE, attributes));
  if (!link.valid()) {
    throw attach_error(interface, mode, errno);
  }
  return link;
}

}  // namespace

XdpProgram::XdpProgram(const EthernetInterface& interface, XdpMode mode, std::uint32_t row)
    : map_(make_map()),
      program_(load_program(map_.get(), htonl(row))),
      link_(attach(interface, mode, program_.get())) {}

void XdpProgram::set_socket(std::uint32_t queue, int socket) const {
  bpf_attr attributes{};
  attributes.map_fd = static_cast<__u32>(map_.get());
  attributes.key = pointer(&queue);
  attributes.value = pointer(&socket);
  if (bpf(BPF_MAP_UPDATE_ELEM, attributes) != 0) {
    throw Error::from_errno("give queue " + std::to_string(queue) + " to an XDP socket", errno);
  }
}

}  // namespace framewire
