// Creates and enlarges pipes, and makes writing to them safe.
#pragma once

#include <functional>
#include <string>

#include "base/file_descriptor.hpp"

namespace framewire {

struct PipeEnds {
  FileDescriptor reads;
  FileDescriptor writes;
};
/// Both ends are close-on-exec. Throws Error.
PipeEnds make_pipe();

/// Enlarges a pipe to 1 MiB, or as far as /proc/sys/fs/pipe-max-size allows. Does nothing if it is larger already, or
/// `fd` is no pipe. A larger pipe means fewer switches between writer and reader: with 64 KiB each waits for the other
/// sixteen times as often.
void enlarge_pipe(int fd) noexcept;

/// From here on a write of this thread to a closed peer only returns EPIPE, even if the process does not ignore SIGPIPE
/// as our programs do. Needed because sendfile() has no MSG_NOSIGNAL. For the library's own threads; never undone.
void block_sigpipe() noexcept;

/// A separate descriptor for writing to `fd`. A pipe or a terminal is reopened, so that O_NONBLOCK only affects this
/// descriptor: on the old description it would affect other processes, too (stdout is often shared with the shell).
/// What cannot be reopened (a socket, another user's pipe) is duplicated, and its writes may block. Invalid, with
/// errno, if `fd` is.
FileDescriptor reopen_for_writing(int fd);

bool is_named_pipe(const std::string& path) noexcept;

/// Opens a named pipe for writing, which does not block. Waits until somebody reads it, or until `is_stopping` is true;
/// a plain open() could not be stopped. Invalid, with errno: ENXIO if it was stopped. Any thread.
FileDescriptor open_named_pipe(const std::string& path, const std::function<bool()>& is_stopping);

}  // namespace framewire
