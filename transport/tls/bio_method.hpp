// What all our BIOs share: OpenSSL's table of functions.
#pragma once

#include <openssl/bio.h>

#include <cstddef>
#include <memory>

namespace framewire {

struct FreeBioMethod {
  void operator()(BIO_METHOD* method) const noexcept { BIO_meth_free(method); }
};
/// Must outlive every BIO that uses it.
using BioMethod = std::unique_ptr<BIO_METHOD, FreeBioMethod>;

struct BioFunctions {
  const char* name;
  int (*write)(BIO*, const char*, std::size_t, std::size_t*);
  int (*read)(BIO*, char*, std::size_t, std::size_t*);
  long (*control)(BIO*, int, long, void*);
};

/// Creates `method`, and a BIO of it whose functions find `data`. Null when there is no memory.
BIO* open_bio(BioMethod& method, const BioFunctions& functions, void* data) noexcept;

}  // namespace framewire
