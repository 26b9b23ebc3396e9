#include "command/common_options.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdint>

#include "base/error.hpp"
#include "base/text.hpp"
#include "transport/address.hpp"

namespace framewire {

namespace {

bool is_address_in_figures(const std::string& text) {
  in6_addr room{};  // large enough for either family
  return ::inet_pton(AF_INET, text.c_str(), &room) == 1 || ::inet_pton(AF_INET6, text.c_str(), &room) == 1;
}

void refuse_what_cannot_be_encrypted(const RawCommonOptions& raw) {
  const auto kind = link_kind_from_name(raw.transport);
  if (kind && !traits(*kind).can_be_encrypted) {
    throw Error::usage("--transport is " + quote(raw.transport) + "; with --encrypt, which works over " +
                       names_of_links_that(&LinkTraits::can_be_encrypted) + " only, it takes " +
                       transports_that(&LinkTraits::can_be_encrypted));
  }
  if (raw.is_insecure && raw.key.empty()) {
    throw Error::usage(
        "--encrypt needs a key, and --insecure does without one; run 'framewire key' on one machine, import it on the "
        "other, and leave out --insecure");
  }
}

HostPort dialled_host(std::string_view text, std::string_view what) {
  try {
    return parse_dialled(text, default_frame_port);
  } catch (const Error& error) {
    throw error.with_context(what);
  }
}

}  // namespace

MemoryChoice parse_memory(const RawCommonOptions& raw) {
  constexpr std::string_view cuda = "cuda";
  if (raw.memory == "auto" || raw.memory == "host") {
    return {};
  }
  const std::string_view rest = std::string_view(raw.memory).substr(std::min(cuda.size(), raw.memory.size()));
  const bool is_cuda = raw.memory.starts_with(cuda) && (rest.empty() || (rest.starts_with(':') && rest.size() > 1));
  if (is_cuda && !raw.takes_gpu_memory) {
    throw Error::usage("--memory is " + quote(raw.memory) +
                       ": this program keeps its data in host memory only; take auto or host");
  }
  if (!is_cuda) {
    throw Error::usage("--memory is " + quote(raw.memory) + "; it takes auto" +
                       (raw.takes_gpu_memory ? ", host, cuda or cuda:GPU" : " or host"));
  }
  return {.is_cuda = true, .gpu = std::string(rest.empty() ? rest : rest.substr(1))};
}

void parse_endpoint_options(const RawCommonOptions& raw, EndpointOptions& endpoint) {
  const auto kind = link_kind_from_name(raw.transport);
  if (!kind && raw.transport != "auto") {
    throw Error::usage("--transport is " + quote(raw.transport) + "; it takes auto, " + all_link_names(", ", " or "));
  }
  if (kind) {
    endpoint.allowed_links = {*kind};
    endpoint.may_choose_link = false;
  }
  parse_memory(raw);
  if (!raw.key.empty()) {
    endpoint.key_file = raw.key;
  }
  endpoint.insecure = raw.is_insecure;
  endpoint.encrypt = raw.encrypt;
  if (raw.encrypt) {
    refuse_what_cannot_be_encrypted(raw);
  }
  endpoint.relaxed_ordering = !raw.strict_ordering;
  if (!raw.type_of_service.empty()) {
    endpoint.type_of_service = static_cast<std::uint8_t>(parse_number(raw.type_of_service, "--tos", 0, UINT8_MAX));
  }
  if (!raw.rdma_address.empty() && !is_address_in_figures(raw.rdma_address)) {
    throw Error::usage("--rdma-address is " + quote(raw.rdma_address) +
                       "; it takes an IPv4 or IPv6 address of an RDMA device of the end that listens, without a port");
  }
  endpoint.native_address = raw.rdma_address;
  if (!raw.timeout.empty()) {
    endpoint.peer_timeout_ns = parse_duration_ns(raw.timeout, "--timeout");
    endpoint.native_timeout_ns = endpoint.peer_timeout_ns;
  }
}

CommonOptions parse_run_options(const RawCommonOptions& raw) {
  CommonOptions options;
  if (!raw.frames.empty()) {
    options.max_frames = parse_number(raw.frames, "--frames", 1, UINT64_MAX);
  }
  if (!raw.duration.empty()) {
    options.max_duration_ns = parse_duration_ns(raw.duration, "--duration");
  }
  if (!raw.stats.empty()) {
    options.stats_file = raw.stats;
  }
  options.is_verbose = raw.is_verbose;
  return options;
}

StreamAddress parse_stream_address(std::string_view text, std::string_view what) {
  const auto slash = text.find('/');
  const std::string_view stream = slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1);
  if (slash != std::string_view::npos && stream.empty()) {
    throw Error::usage(std::string(what) + " is " + quote(text) +
                       ": no stream is named after the slash; write HOST/STREAM, or HOST for the first");
  }
  if (stream.find('/') != std::string_view::npos) {
    throw Error::usage(std::string(what) + " is " + quote(text) +
                       ": a stream's name has no slash; write HOST/STREAM, once for each stream");
  }
  StreamAddress address{.host = dialled_host(text.substr(0, slash), what), .stream = std::string(stream)};
  if (address.host.host == "*") {
    throw Error::usage(std::string(what) + " is " + quote(text) +
                       ": all addresses cannot be dialled; name one, or wait for a sender with --listen *:5290");
  }
  if (address.host.host.empty()) {
    address.host.host = "localhost";
  }
  return address;
}

}  // namespace framewire
