#include "transport/tls/key.hpp"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cassert>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"

namespace framewire {

Key::Key(std::span<const std::byte, size_bytes> bytes) noexcept {
  std::ranges::copy(bytes, bytes_.begin());
}

Key::~Key() {
  wipe(bytes_);
}

bool Key::operator==(const Key& other) const noexcept {
  return are_equal(bytes_, other.bytes_);
}

namespace {

/// OpenSSL keeps on a queue of this thread why a call failed; mostly memory lacks. Older entries are of other calls.
[[noreturn]] void openssl_failed(const std::string& doing) {
  const unsigned long code = ERR_peek_last_error();
  const char* const reason = ERR_reason_error_string(code);
  ERR_clear_error();
  throw Error::failed("cannot " + doing + ": OpenSSL says " + (reason != nullptr ? quote(reason) : "nothing more") +
                      "; free memory, and try again");
}

}  // namespace

void fill_random(std::span<std::byte> bytes) {
  if (RAND_priv_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) != 1) {
    openssl_failed("make random numbers");
  }
}

Mac hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> text) {
  Mac mac{};
  unsigned int size_bytes = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
           text.size(), reinterpret_cast<unsigned char*>(mac.data()), &size_bytes) == nullptr ||
      size_bytes != mac.size()) {
    openssl_failed("compute an HMAC");
  }
  return mac;
}

bool are_equal(std::span<const std::byte> one, std::span<const std::byte> other) noexcept {
  assert(one.size() == other.size());
  return CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

void wipe(std::span<std::byte> secret) noexcept {
  OPENSSL_cleanse(secret.data(), secret.size());
}

}  // namespace framewire
