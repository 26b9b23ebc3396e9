#include "transport/tls/bio_method.hpp"

namespace framewire {

BIO* open_bio(BioMethod& method, const BioFunctions& functions, void* data) noexcept {
  method.reset(BIO_meth_new(BIO_TYPE_SOURCE_SINK, functions.name));
  if (method == nullptr || BIO_meth_set_write_ex(method.get(), functions.write) != 1 ||
      BIO_meth_set_read_ex(method.get(), functions.read) != 1 ||
      BIO_meth_set_ctrl(method.get(), functions.control) != 1) {
    return nullptr;
  }
  BIO* bio = BIO_new(method.get());
  if (bio != nullptr) {
    BIO_set_data(bio, data);
    BIO_set_init(bio, 1);
  }
  return bio;
}

}  // namespace framewire
