// Tells whether two processes run on one machine.
#pragma once

#include <string>

namespace framewire {

/// The kernel's boot id, the same in all containers of this kernel. Empty if the kernel does not provide it.
std::string boot_id();

/// "boot:device:inode": the boot id and the numbers of the calling thread's network namespace, so that a container with
/// its own loopback has its own. Empty if the system does not tell.
std::string network_id();

}  // namespace framewire
