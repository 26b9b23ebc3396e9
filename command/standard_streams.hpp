// Standard input, output and error of a program that was started without some of them.
#pragma once

namespace framewire {

/// Puts something in place of each standard descriptor that is closed, so that nothing else gets its number: frames
/// would be read from a timer, and log lines written to a viewer. Reading from that standard input, and writing to that
/// output, fail with EBADF. First thing in main(), before anything is opened.
void reserve_standard_fds() noexcept;

/// Whether fd is open, and for writing.
bool is_open_for_writing(int fd) noexcept;

}  // namespace framewire
