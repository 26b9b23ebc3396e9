#include "transport/tls/tls_psk.hpp"

#include <cstddef>
#include <exception>
#include <utility>

#include "base/error.hpp"
#include "base/machine_identity.hpp"

namespace framewire {

namespace {

constexpr std::string_view data_identity = "framewire-1";
/// The identity in earlier releases, which used the shared key itself.
constexpr std::string_view older_identity = "framewire-1";

// The current identity: `word`, whether the dialler wants another machine, 16 random bytes, and a keyed hash of the
// dialler's host.
constexpr std::string_view word = "framewire-2";
constexpr std::size_t salt_bytes = 16;
constexpr std::size_t host_bytes = 16;
constexpr std::size_t identity_bytes = word.size() + 1 + salt_bytes + host_bytes;
constexpr char to_this_machine = 'h';
constexpr char to_another_machine = 'a';

// Separates the two uses of the shared key: neither text is a prefix of the other.
constexpr std::string_view key_context = "framewire control key 2";
constexpr std::string_view host_context = "framewire host 2";

Mac hmac(const Key& key, std::string_view context, std::string_view text) {
  const std::string whole = std::string(context).append(text);
  return hmac_sha256(key.bytes(), std::as_bytes(std::span(whole)));
}

std::string random_text(std::size_t size_bytes) {
  std::string text(size_bytes, '\0');
  fill_random(std::as_writable_bytes(std::span(text)));
  return text;
}

/// The keyed hash of this host. Without the key it looks like random bytes, and differs each time.
std::string host_here(const Key& shared, std::string_view salt) {
  const std::string network = network_id();
  if (network.empty()) {
    return random_text(host_bytes);  // no host has it
  }
  const Mac mac = hmac(shared, host_context, std::string(salt).append(network));
  return {reinterpret_cast<const char*>(mac.data()), host_bytes};
}

/// As RFC 9257 and 9258 require: the key depends on everything that both sides must agree on.
Key key_of(const Key& shared, std::string_view identity) {
  Mac mac = hmac(shared, key_context, identity);
  const Key key(mac);
  wipe(mac);
  return key;
}

}  // namespace

TlsPsk psk_of_data(const Key& key) {
  return {.identity = std::string(data_identity), .key = key};
}

TlsPsk offer_shared_key(const Key& shared, bool is_to_another_machine) {
  std::string identity(word);
  identity += is_to_another_machine ? to_another_machine : to_this_machine;
  const std::string salt = random_text(salt_bytes);
  identity += salt;
  identity += host_here(shared, salt);
  Key key = key_of(shared, identity);
  return {.identity = std::move(identity), .key = key};
}

FoundPsk find_shared_key(const Key& shared, std::string_view identity) noexcept {
  try {
    if (identity == older_identity) {
      return {.key = {},
              .refusal =
                  "the dialling end offers the shared key as an older framewire does; bring both to the same "
                  "release"};
    }
    if (identity.size() != identity_bytes || !identity.starts_with(word)) {
      return {};
    }
    const std::string_view salt = identity.substr(word.size() + 1, salt_bytes);
    const std::string_view host = identity.substr(identity_bytes - host_bytes);
    if (identity[word.size()] != to_this_machine && host == host_here(shared, salt)) {
      return {.key = {},
              .refusal =
                  "the connection came back to the machine that it comes from; something redirects it (to reach this "
                  "machine itself, dial localhost)"};
    }
    return {.key = key_of(shared, identity)};
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace framewire
