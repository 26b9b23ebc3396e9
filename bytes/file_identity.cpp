#include "bytes/file_identity.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/machine_identity.hpp"

namespace framewire {

namespace {

/// Only a digest, so that the peer does not learn the values themselves.
std::string identity_of(const struct stat& status) {
  const std::string boot = boot_id();
  const bool is_block_device = S_ISBLK(status.st_mode);
  if (boot.empty() || (!is_block_device && !S_ISREG(status.st_mode))) {
    return {};
  }
  // A block device may have several device files, each with its own inode.
  const std::string text = is_block_device ? fmt::format("{} block {}", boot, status.st_rdev)
                                           : fmt::format("{} file {} {}", boot, status.st_dev, status.st_ino);
  const XXH128_hash_t digest = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", digest.high64, digest.low64);
}

}  // namespace

std::string file_identity(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? identity_of(status) : std::string();
}

std::string file_identity(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? identity_of(status) : std::string();
}

}  // namespace framewire
