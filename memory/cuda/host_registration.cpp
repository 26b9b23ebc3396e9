#include "memory/cuda/host_registration.hpp"

#include <utility>
#include <vector>

namespace framewire {

namespace {

/// All of this process.
struct Known {
  std::mutex mutex;  // guards what follows
  std::vector<std::weak_ptr<CudaHostRegistration>> all;
};

}  // namespace

std::shared_ptr<CudaHostRegistration> CudaHostRegistration::find_or_create(
    const std::shared_ptr<const CudaDevice>& device, std::shared_ptr<const HostBlock> host) {
  static auto& known = *new Known;  // for ever: a thread of a driver that hangs may still need it
  const std::scoped_lock lock(known.mutex);
  std::erase_if(known.all, [](const auto& one) { return one.expired(); });
  for (const auto& one : known.all) {
    if (auto found = one.lock(); found != nullptr && found->host() == host.get()) {
      return found;
    }
  }
  auto made = std::make_shared<CudaHostRegistration>(device, std::move(host));
  known.all.push_back(made);
  return made;
}

CudaHostRegistration::CudaHostRegistration(std::shared_ptr<const CudaDevice> device,
                                           std::shared_ptr<const HostBlock> host) noexcept
    : device_(std::move(device)), host_(std::move(host)) {}

CudaHostRegistration::~CudaHostRegistration() {
  if (!is_registered_) {
    return;
  }
  if (const CurrentContext current(*device_, std::nothrow); current) {
    device_->functions().cuMemHostUnregister(host_->bytes().data());
  }
}

void CudaHostRegistration::require() {
  const std::scoped_lock lock(mutex_);
  if (is_registered_) {
    return;
  }
  const CurrentContext current(*device_);
  const unsigned flags = cuda::host_register_portable | (host_->is_read_only() ? cuda::host_register_read_only : 0U);
  cuda::require(device_->functions().cuMemHostRegister(host_->bytes().data(), host_->bytes().size(), flags),
                "cuMemHostRegister");
  is_registered_ = true;
}

}  // namespace framewire
