// Tells whether sender and receiver of a transfer have the same file open: `rdsend HOST a` and `rdrecv a` on one
// machine would destroy it.
#pragma once

#include <string>

namespace framewire {

/// Identifies an open regular file or block device: 32 hexadecimal digits, derived from its device, its inode and the
/// kernel's boot id. Two peers have the same file if their digits are equal.
/// Empty, and then nothing can be compared: for any other kind of file (two peers may well share a pipe or /dev/null),
/// for a descriptor that is not open, and without a boot id.
/// Machines with different kernels never agree, even on one file of a network file system.
std::string file_identity(int fd);
/// The same for a path, which need not exist. Does not open the file.
std::string file_identity(const std::string& path);

}  // namespace framewire
