#include "tests/cuda/dma_buf_verbs.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <map>
#include <mutex>
#include <string_view>

#include "tests/cuda/delayed_writes.hpp"
#include "tests/cuda/machine.hpp"
#include "tests/cuda/mlx5_library.hpp"
#include "tests/cuda/stand_in.hpp"

// The linker prescribes these names (--wrap).
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
extern "C" {
ibv_mr* __real_ibv_reg_mr_iova2(ibv_pd* domain, void* address, size_t length, uint64_t iova, unsigned int access);
int __real_ibv_dereg_mr(ibv_mr* mr);
void* __real_dlopen(const char* name, int flags);
}

namespace framewire::test::dma_buf_verbs {

namespace {

struct Living {
  void* real_address = nullptr;  // what ibv_mr::addr was
  void* mapping = nullptr;       // of a DMA-BUF
  std::size_t length = 0;
};

struct Book {
  std::mutex mutex;  // guards everything
  int dma_buf_error = 0;
  int dma_bufs_left = INT_MAX;
  int address_error = EFAULT;
  bool leads_astray = false;
  bool leads_addresses_astray = false;
  Mlx5Library mlx5_library = Mlx5Library::usual;
  bool is_mlx5 = false;
  int path_error = ENODEV;
  int data_direct_error = 0;
  int data_direct_left = INT_MAX;
  bool delays_writes = false;
  std::vector<Registered> registered;
  std::map<ibv_mr*, Living> living;
  std::size_t most_living = 0;
};

Book& book() {
  static Book one;
  return one;
}

ibv_mr* register_pages(ibv_pd* domain, void* address, std::size_t length, std::uint64_t iova, unsigned access) {
  if (domain != &domain_without_device()) {
    return __real_ibv_reg_mr_iova2(domain, address, length, iova, access);
  }
  return new ibv_mr{
      .context = domain->context, .pd = domain, .addr = address, .length = length, .handle = 0, .lkey = 1, .rkey = 1};
}

ibv_mr* fail(int error_number) {
  errno = error_number;
  return nullptr;
}

void add(ibv_mr* mr, const Living& living, const Registered& as) {
  book().living[mr] = living;
  book().most_living = std::max(book().most_living, book().living.size());
  book().registered.push_back(as);
}

/// What the kernel checks.
int fault_of(std::uint64_t offset, std::size_t length, std::uint64_t iova, int descriptor, int access) {
  constexpr std::uint64_t page_bytes = 4096;
  constexpr auto known = static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                               IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC) |
                         static_cast<unsigned>(IBV_ACCESS_RELAXED_ORDERING);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    return EBADF;
  }
  constexpr std::uint64_t bytes_around = cuda_stand_in::bytes_before_memory + cuda_stand_in::bytes_behind_memory;
  const std::uint64_t size_bytes = static_cast<std::uint64_t>(status.st_size) - bytes_around;
  const bool is_within = offset <= size_bytes && length <= size_bytes - offset;
  const bool is_valid = (static_cast<unsigned>(access) & ~known) == 0 && offset % page_bytes == iova % page_bytes;
  return is_within && is_valid ? 0 : EINVAL;
}

/// Pages of the file behind a DMA-BUF; with descriptor -1 others. MAP_FAILED with errno.
void* map_pages(int descriptor, std::uint64_t offset, std::size_t length) {
  const bool is_file = descriptor >= 0;
  return ::mmap(nullptr, length, PROT_READ | PROT_WRITE, is_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, descriptor,
                is_file ? static_cast<off_t>(cuda_stand_in::bytes_before_memory + offset) : 0);
}

/// Registers these pages, which it then owns. Null with errno.
ibv_mr* register_mapping(ibv_pd* domain, void* pages, std::uint64_t offset, const Registered& as) {
  if (pages == MAP_FAILED) {
    return nullptr;
  }
  ibv_mr* const mr = register_pages(domain, pages, as.size_bytes, as.iova, as.access);
  if (mr == nullptr) {
    const int error_number = errno;
    ::munmap(pages, as.size_bytes);
    return fail(error_number);
  }
  add(mr, {.real_address = mr->addr, .mapping = pages, .length = as.size_bytes}, as);
  mr->addr = reinterpret_cast<void*>(offset);  // as libibverbs has it: nobody may use this as an address
  return mr;
}

/// What is only read is read in its place.
ibv_mr* register_delayed(ibv_pd* domain, int descriptor, std::uint64_t offset, const Registered& as) {
  void* const memory = map_pages(descriptor, offset, as.size_bytes);
  if (memory == MAP_FAILED || (as.access & unsigned{IBV_ACCESS_LOCAL_WRITE}) == 0) {
    return register_mapping(domain, memory, offset, as);
  }
  void* const pages = map_pages(-1, 0, as.size_bytes);
  ibv_mr* const mr = register_mapping(domain, pages, offset, as);
  if (mr == nullptr) {
    const int error_number = errno;
    ::munmap(memory, as.size_bytes);
    return fail(error_number);
  }
  delayed_writes::begin(mr, static_cast<std::byte*>(pages), static_cast<std::byte*>(memory), as.size_bytes);
  return mr;
}

}  // namespace

ibv_mr* register_dma_buf(ibv_pd* domain, std::uint64_t offset, std::size_t length, std::uint64_t iova, int descriptor,
                         int access) {
  const std::scoped_lock lock(book().mutex);
  if (book().dma_buf_error != 0) {
    return fail(book().dma_buf_error);
  }
  if (const int error_number = fault_of(offset, length, iova, descriptor, access); error_number != 0) {
    return fail(error_number);
  }
  if (book().dma_bufs_left == 0) {
    return fail(ENOMEM);
  }
  --book().dma_bufs_left;
  const Registered as{
      .is_by_dma_buf = true, .iova = iova, .size_bytes = length, .access = static_cast<unsigned>(access)};
  if (book().delays_writes) {
    return register_delayed(domain, descriptor, offset, as);
  }
  // One that is mapped by PCIe is taken, and does not work (UCX, src/uct/cuda/cuda_copy/cuda_copy_md.c).
  const bool is_astray = book().leads_astray || cuda_stand_in::is_by_pcie(descriptor);
  return register_mapping(domain, map_pages(is_astray ? -1 : descriptor, offset, length), offset, as);
}

ibv_mr* register_data_direct(ibv_pd* domain, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                             int descriptor, int access, int mlx5_access) {
  const std::scoped_lock lock(book().mutex);
  if (book().data_direct_error != 0 || book().data_direct_left == 0) {
    return fail(book().data_direct_error != 0 ? book().data_direct_error : ENOMEM);
  }
  --book().data_direct_left;
  if (const int error_number = fault_of(offset, length, iova, descriptor, access); error_number != 0) {
    return fail(error_number);
  }
  if (mlx5_access != 1 || !cuda_stand_in::is_by_pcie(descriptor)) {
    return fail(EINVAL);
  }
  return register_delayed(domain, descriptor, offset,
                          {.is_by_dma_buf = true,
                           .is_by_data_direct = true,
                           .iova = iova,
                           .size_bytes = length,
                           .access = static_cast<unsigned>(access)});
}

ibv_mr* register_address(ibv_pd* domain, void* address, std::size_t length, std::uint64_t iova, unsigned access) {
  std::byte* const on_device = cuda_stand_in::memory_at(reinterpret_cast<std::uint64_t>(address));
  if (on_device == nullptr) {
    return register_pages(domain, address, length, iova, access);
  }
  const std::scoped_lock lock(book().mutex);
  if (book().address_error != 0) {
    return fail(book().address_error);
  }
  const Registered as{.iova = iova, .size_bytes = length, .access = access};
  if (book().leads_addresses_astray) {
    return register_mapping(domain, map_pages(-1, 0, length), iova, as);
  }
  ibv_mr* const mr = register_pages(domain, on_device, length, iova, access);
  if (mr != nullptr) {
    add(mr, {.real_address = mr->addr}, as);
  }
  return mr;
}

int deregister(ibv_mr* mr) {
  const std::scoped_lock lock(book().mutex);
  Living living;
  if (const auto found = book().living.find(mr); found != book().living.end()) {
    living = found->second;
    mr->addr = living.real_address;
    book().living.erase(found);
  }
  std::byte* const memory = delayed_writes::end(mr);
  int result = 0;
  if (mr->pd == &domain_without_device()) {
    delete mr;
  } else {
    result = __real_ibv_dereg_mr(mr);
  }
  if (living.mapping != nullptr) {
    ::munmap(living.mapping, living.length);
  }
  if (memory != nullptr) {
    ::munmap(memory, living.length);
  }
  return result;
}

namespace {

bool is_supported(ibv_device* /*device*/) {
  const std::scoped_lock lock(book().mutex);
  return book().is_mlx5;
}

int data_direct_path(ibv_context* /*context*/, char* path, std::size_t path_bytes) {
  constexpr std::string_view usual = "/devices/pci0000:00/0000:00:01.0/0000:01:00.1";
  const std::scoped_lock lock(book().mutex);
  if (book().path_error != 0 || path_bytes <= usual.size()) {
    return book().path_error != 0 ? book().path_error : ENOSPC;
  }
  path[usual.copy(path, usual.size())] = '\0';
  return 0;
}

}  // namespace

void reset() {
  delayed_writes::reset();
  const std::scoped_lock lock(book().mutex);
  mlx5_library::answers() = {
      .is_supported = is_supported, .data_direct_path = data_direct_path, .register_dma_buf = register_data_direct};
  book().mlx5_library = Mlx5Library::usual;
  book().is_mlx5 = false;
  book().path_error = ENODEV;
  book().data_direct_error = 0;
  book().data_direct_left = INT_MAX;
  book().delays_writes = false;
  book().dma_buf_error = 0;
  book().dma_bufs_left = INT_MAX;
  book().address_error = EFAULT;
  book().leads_astray = false;
  book().leads_addresses_astray = false;
  book().registered.clear();
  book().most_living = book().living.size();
}

void set_mlx5_library(Mlx5Library library) {
  const std::scoped_lock lock(book().mutex);
  book().mlx5_library = library;
}

void set_is_mlx5(bool is_mlx5) {
  const std::scoped_lock lock(book().mutex);
  book().is_mlx5 = is_mlx5;
}

void set_data_direct(int error_number) {
  const std::scoped_lock lock(book().mutex);
  book().path_error = error_number;
}

void refuse_data_direct(int error_number) {
  const std::scoped_lock lock(book().mutex);
  book().data_direct_error = error_number;
}

void offer_data_direct() {
  set_is_mlx5(true);
  set_data_direct(0);
}

void delay_writes(bool delays) {
  const std::scoped_lock lock(book().mutex);
  book().delays_writes = delays;
}

void refuse_dma_buf(int error_number) {
  const std::scoped_lock lock(book().mutex);
  book().dma_buf_error = error_number;
}

void refuse_dma_buf_after(int registrations) {
  const std::scoped_lock lock(book().mutex);
  book().dma_bufs_left = registrations;
}

void pin_addresses(bool can_pin) {
  const std::scoped_lock lock(book().mutex);
  book().address_error = can_pin ? 0 : EFAULT;
}

void refuse_addresses(int error_number) {
  const std::scoped_lock lock(book().mutex);
  book().address_error = error_number;
}

void refuse_data_direct_after(int registrations) {
  const std::scoped_lock lock(book().mutex);
  book().data_direct_left = registrations;
}

void lead_astray(bool leads_astray) {
  const std::scoped_lock lock(book().mutex);
  book().leads_astray = leads_astray;
}

void lead_addresses_astray(bool leads_astray) {
  const std::scoped_lock lock(book().mutex);
  book().leads_addresses_astray = leads_astray;
}

std::vector<Registered> registered() {
  const std::scoped_lock lock(book().mutex);
  return book().registered;
}

std::size_t living() {
  const std::scoped_lock lock(book().mutex);
  return book().living.size();
}

std::size_t most_living() {
  const std::scoped_lock lock(book().mutex);
  return book().most_living;
}

/// The usual one is in the program already, by its name.
void* open_mlx5(const char* name, int flags) {
  const std::scoped_lock lock(book().mutex);
  switch (book().mlx5_library) {
    case Mlx5Library::missing:
      return nullptr;
    case Mlx5Library::old:
      return __real_dlopen(FRAMEWIRE_OLD_MLX5_LIBRARY, flags);
    case Mlx5Library::usual:
      break;
  }
  return __real_dlopen(name, flags);
}

ibv_pd& domain_without_device() {
  static ibv_device device = [] {
    ibv_device named{};
    std::string_view("rxe0").copy(named.name, sizeof named.name - 1);
    return named;
  }();
  static ibv_context context = [] {
    ibv_context opened{};
    opened.device = &device;
    return opened;
  }();
  static ibv_pd domain{.context = &context, .handle = 0};
  return domain;
}

}  // namespace framewire::test::dma_buf_verbs

extern "C" {
ibv_mr* __wrap_ibv_reg_dmabuf_mr(ibv_pd* domain, uint64_t offset, size_t length, uint64_t iova, int descriptor,
                                 int access) {
  return framewire::test::dma_buf_verbs::register_dma_buf(domain, offset, length, iova, descriptor, access);
}
ibv_mr* __wrap_ibv_reg_mr_iova2(ibv_pd* domain, void* address, size_t length, uint64_t iova, unsigned int access) {
  return framewire::test::dma_buf_verbs::register_address(domain, address, length, iova, access);
}
int __wrap_ibv_dereg_mr(ibv_mr* mr) {
  return framewire::test::dma_buf_verbs::deregister(mr);
}
void* __wrap_dlopen(const char* name, int flags) {
  return name != nullptr && std::string_view(name) == "libmlx5.so.1"
             ? framewire::test::dma_buf_verbs::open_mlx5(name, flags)
             : __real_dlopen(name, flags);
}
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
