// Tells whether both ends of a transfer have the same file: `rdsend HOST a` and `rdrecv a` on one machine would destroy
// it.
#pragma once

#include <string>

namespace framewire {

/// Of this kernel since it was started, and the same in all of its containers; empty where it does not tell.
std::string boot_id();

/// Names an open regular file or block device: 32 hexadecimal digits, made of its device, its inode and the kernel's
/// boot id. Two ends have the same file where they say the same digits. Empty for everything else (two ends may well
/// share a pipe or /dev/null), for a descriptor that is not open, and where the kernel tells no boot id: then nothing
/// can be compared. Machines with kernels of their own never agree, also where a file of a network file system is the
/// same for both.
std::string file_identity(int fd);
/// The same of a path, which need not exist. Opens nothing.
std::string file_identity(const std::string& path);

}  // namespace framewire
