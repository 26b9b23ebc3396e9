// Pipes as large as an ordinary user may have them.
#pragma once

namespace framewire {

/// 1 MiB, or what /proc/sys/fs/pipe-max-size leaves; nothing where `fd` is no pipe. Fewer turns between writer and
/// reader: with 64 KiB each waits for the other sixteen times as often.
void enlarge_pipe(int fd) noexcept;

}  // namespace framewire
