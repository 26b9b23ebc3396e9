// Handles standard descriptors that are closed when the program starts.
#pragma once

namespace framewire {

/// Opens a placeholder for each closed standard descriptor, so that no other file gets its number. Otherwise frames
/// might be read from a timer, and log lines written to a viewer's socket. Reading that standard input, and writing
/// that output, fail with EBADF. Call it first in main(), before anything is opened.
void reserve_standard_fds() noexcept;

/// Whether fd is open for writing.
bool is_open_for_writing(int fd) noexcept;

/// Whether `fd` is a pipe or socket whose reader has gone.
bool has_no_reader(int fd) noexcept;

}  // namespace framewire
