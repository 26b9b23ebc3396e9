// What a process must be allowed before a driver of OpenGL is loaded.
#pragma once

#include <cstdint>

namespace framewire {

/// A software driver (llvmpipe, with LLVM and a stack for each of its threads) takes about 600 MB of address space
/// before anything is drawn, and ends by a signal where it gets none: 1 GiB leaves room for small frames.
inline constexpr std::uint64_t min_address_space_bytes = std::uint64_t{1} << 30;
/// Libraries, fonts, devices, the display, a session with its link, and files that are written: about 30 in all.
inline constexpr std::uint64_t min_open_files = 64;

/// Throws Error (failed) that names the limit, its value and what to do, where this process may have less address space
/// (RLIMIT_AS) or fewer descriptors (RLIMIT_NOFILE) than that. A soft limit of descriptors is raised as far as the hard
/// one allows. Before the first context or window: drivers do not say what they lack.
void require_room_for_opengl();

}  // namespace framewire
