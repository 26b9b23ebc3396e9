// Making pipes, taking over those that others have made, and writing to a reader that has gone.
#pragma once

#include "base/file_descriptor.hpp"

namespace framewire {

struct PipeEnds {
  FileDescriptor reads;
  FileDescriptor writes;
};
/// Both ends are close-on-exec. Throws Error.
PipeEnds make_pipe();

/// 1 MiB, or what /proc/sys/fs/pipe-max-size leaves; nothing where it has more already, or `fd` is no pipe. Fewer turns
/// between writer and reader: with 64 KiB each waits for the other sixteen times as often.
void enlarge_pipe(int fd) noexcept;

/// From here on this thread's writes to whoever has gone are EPIPE alone, also where the process has not chosen to
/// ignore SIGPIPE as our programs do: sendfile() has no MSG_NOSIGNAL. For threads of ours, to their end.
void block_sigpipe() noexcept;

/// A descriptor of one's own for what is written to `fd`. A pipe is opened anew, so that O_NONBLOCK is ours alone: on
/// the old description others would get it too (stdout is often shared with the shell). What cannot be opened anew (a
/// socket, another user's pipe) is taken as it is, and its writes may block. Invalid, with errno, if `fd` is.
FileDescriptor reopen_for_writing(int fd);

}  // namespace framewire
