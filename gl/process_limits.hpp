// Process limits that must be checked before an OpenGL driver is loaded.
#pragma once

#include <cstdint>

namespace framewire {

/// A software driver (llvmpipe, with LLVM and a stack for each of its threads) takes about 600 MB of address space
/// before it draws anything. If it gets less, a signal kills the process. 1 GiB leaves room for small frames.
inline constexpr std::uint64_t min_address_space_bytes = std::uint64_t{1} << 30;
/// Libraries, fonts, devices, the display, a session with its link, and output files need about 30 in all.
inline constexpr std::uint64_t min_open_files = 64;

/// Throws Error (failed) if this process has less address space (RLIMIT_AS) or fewer descriptors (RLIMIT_NOFILE) than
/// that. The error names the limit, its value and the remedy. Raises the soft descriptor limit as far as the hard limit
/// allows. Call it before the first context or window, because drivers do not report which limit they hit.
void require_room_for_opengl();

}  // namespace framewire
