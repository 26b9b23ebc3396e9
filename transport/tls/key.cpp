#include "transport/tls/key.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cassert>

#include "base/error.hpp"

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

void fill_random(std::span<std::byte> bytes) {
  if (RAND_priv_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) != 1) {
    throw Error::failed("the system has no random numbers");
  }
}

Mac hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> text) {
  Mac mac{};
  unsigned int size_bytes = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
           text.size(), reinterpret_cast<unsigned char*>(mac.data()), &size_bytes) == nullptr ||
      size_bytes != mac.size()) {
    throw Error::failed("OpenSSL could not compute an HMAC");
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
