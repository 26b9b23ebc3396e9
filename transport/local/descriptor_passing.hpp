// Passes file descriptors over a Unix socket (SCM_RIGHTS), together with one record of fixed size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/file_descriptor.hpp"

namespace framewire {

/// Sends `record` and duplicates of `descriptors` as one unit. Throws Error when the peer is gone.
void send_with_descriptors(int socket, std::span<const std::byte> record, std::span<const int> descriptors);

/// Receives one record of exactly this size with exactly `descriptor_count` descriptors. Throws Error at the deadline,
/// at the end of the stream, and for any other record.
std::vector<FileDescriptor> receive_with_descriptors(int socket, std::span<std::byte> record,
                                                     std::size_t descriptor_count, std::int64_t deadline_ns);

template <typename Record>
requires std::is_trivially_copyable_v<Record> std::span<const std::byte> record_bytes(const Record& record)
noexcept {
  return std::as_bytes(std::span(&record, 1));
}

template <typename Record>
requires std::is_trivially_copyable_v<Record> std::span<std::byte> writable_record_bytes(Record& record)
noexcept {
  return std::as_writable_bytes(std::span(&record, 1));
}

}  // namespace framewire
