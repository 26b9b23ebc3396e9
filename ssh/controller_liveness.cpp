#include "ssh/controller_liveness.hpp"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/clock.hpp"
#include "base/wait.hpp"
#include "ssh/ssh_command.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

namespace {

constexpr std::int64_t answer_timeout_ns = 100 * ns_per_ms;  // the kernel answers at once

struct Request {
  nlmsghdr header;
  inet_diag_req_v2 wanted;
};

/// Returns nothing if the text is not a connection, or an address has a zone ("fe80::1%eth0").
std::optional<inet_diag_sockid> parse(const std::string& ssh_connection, std::uint8_t& family) {
  const auto ends = parse_ssh_connection(ssh_connection);
  if (!ends) {
    return std::nullopt;
  }
  family = ends->client.find(':') == std::string::npos ? AF_INET : AF_INET6;
  inet_diag_sockid id{};
  id.idiag_sport = htons(ends->server_port);
  id.idiag_dport = htons(ends->client_port);
  std::ranges::fill(id.idiag_cookie, INET_DIAG_NOCOOKIE);
  const bool is_one = ::inet_pton(family, ends->server.c_str(), &id.idiag_src) == 1 &&
                      ::inet_pton(family, ends->client.c_str(), &id.idiag_dst) == 1;
  return is_one ? std::optional(id) : std::nullopt;
}

std::string request_for(const std::string& ssh_connection) {
  Request request{};
  const auto id = parse(ssh_connection, request.wanted.sdiag_family);
  if (!id) {
    return {};
  }
  request.header = {.nlmsg_len = sizeof request,
                    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                    .nlmsg_flags = NLM_F_REQUEST,
                    .nlmsg_seq = 0,
                    .nlmsg_pid = 0};
  request.wanted.sdiag_protocol = IPPROTO_TCP;
  request.wanted.idiag_ext = 1U << (INET_DIAG_INFO - 1U);
  request.wanted.idiag_states = ~0U;
  request.wanted.id = *id;
  return {reinterpret_cast<const char*>(&request), sizeof request};
}

template <typename T>
std::optional<T> object_at(std::string_view bytes) noexcept {
  T object{};
  if (bytes.size() < sizeof object) {
    return std::nullopt;
  }
  std::memcpy(&object, bytes.data(), sizeof object);
  return object;
}

/// Reads tcp_info after the answer's fixed part: the kernel's may be shorter or longer than ours.
std::optional<tcp_info> info_in(std::string_view answer) noexcept {
  const auto header = object_at<nlmsghdr>(answer);
  if (!header || header->nlmsg_type != SOCK_DIAG_BY_FAMILY || header->nlmsg_len > answer.size()) {
    return std::nullopt;
  }
  constexpr std::size_t fixed_bytes = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(inet_diag_msg)));
  std::string_view rest = answer.substr(0, header->nlmsg_len);
  rest.remove_prefix(std::min(rest.size(), fixed_bytes));
  for (auto attribute = object_at<rtattr>(rest); attribute && attribute->rta_len >= sizeof(rtattr);
       attribute = object_at<rtattr>(rest)) {
    const std::string_view whole = rest.substr(0, attribute->rta_len);
    if (attribute->rta_type == INET_DIAG_INFO) {
      tcp_info info{};
      const std::string_view value = whole.substr(sizeof(rtattr));
      std::memcpy(&info, value.data(), std::min(value.size(), sizeof info));
      return info;
    }
    rest.remove_prefix(std::min<std::size_t>(rest.size(), RTA_ALIGN(attribute->rta_len)));
  }
  return std::nullopt;
}

}  // namespace

ControllerLiveness::ControllerLiveness(const std::string& ssh_connection) : request_(request_for(ssh_connection)) {
  if (!request_.empty()) {
    kernel_.reset(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  }
}

std::optional<tcp_info> ControllerLiveness::query() const noexcept {
  std::array<char, 4096> answer{};
  while (kernel_.valid() && ::recv(kernel_.get(), answer.data(), answer.size(), MSG_DONTWAIT) > 0) {
    // discard an earlier answer that came too late
  }
  if (!kernel_.valid() || ::send(kernel_.get(), request_.data(), request_.size(), 0) < 0 ||
      !wait_for(kernel_.get(), POLLIN, monotonic_ns() + answer_timeout_ns)) {
    return std::nullopt;
  }
  const ssize_t got = ::recv(kernel_.get(), answer.data(), answer.size(), MSG_DONTWAIT);
  return got < 0 ? std::nullopt : info_in({answer.data(), static_cast<std::size_t>(got)});
}

bool ControllerLiveness::is_silent(std::int64_t timeout_ns) const noexcept {
  const auto info = query();
  return info && tcp_is_silent(*info, timeout_ns);
}

}  // namespace framewire
